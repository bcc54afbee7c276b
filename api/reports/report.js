(function () {
  "use strict";
  const root = document.documentElement;
  const preference = window.matchMedia("(prefers-color-scheme: dark)");
  const views = {};
  let packed = null;
  const unpacked = {};

  async function textOf(id) {
    const element = document.getElementById(id);
    if (element.type !== "application/gzip") { return element.textContent; }
    const bytes = Uint8Array.from(atob(element.textContent), (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  // Rows of a dataset, which is stored by column.
  function rowsOf(name) {
    if (unpacked[name]) { return unpacked[name]; }
    const data = packed.datasets[name];
    const columns = Object.entries(data.columns);
    const rows = Array.from({ length: data.rows }, () => ({}));
    for (const [field, column] of columns) {
      for (let at = 0; at < data.rows; at += 1) {
        rows[at][field] = "one" in column ? column.one : column.at ? column.of[column.at[at]] : column.all[at];
      }
    }
    unpacked[name] = rows;
    return rows;
  }

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : preference.matches;
  }

  function looks() {
    const text = isDark() ? "#e8eaed" : "#1b1f24", soft = isDark() ? "#a9b1bb" : "#57606a";
    const line = isDark() ? "#383f47" : "#d5dae1";
    return {
      axis: { labelColor: soft, titleColor: soft, gridColor: line, domainColor: line, tickColor: line },
      legend: { labelColor: text, titleColor: text },
      header: { labelColor: text, titleColor: text },
      title: { color: text, subtitleColor: soft },
      text: { color: text },
    };
  }

  async function draw(name) {
    const target = document.getElementById(name + "-chart");
    const made = packed.charts[name];
    const datasets = Object.fromEntries(made.datasets.map((one) => [one, rowsOf(one).map((row) => ({ ...row }))]));
    const many = made.datasets.some((one) => packed.datasets[one].rows > 1500);
    const before = views[name];
    const signals = before ? before.signals : {};
    if (before) { before.view.finalize(); }
    target.replaceChildren();
    const bindings = document.createElement("div");
    const canvas = document.createElement("div");
    bindings.className = "vega-bindings";
    target.append(bindings, canvas);
    const { view } = await window.vegaEmbed(canvas, { ...made.spec, datasets }, {
      config: looks(),
      renderer: many ? "canvas" : "svg",
      actions: { export: true, source: false, compiled: false, editor: false },
      bind: bindings,
      tooltip: { theme: isDark() ? "dark" : "light" },
      mode: "vega-lite",
    });
    views[name] = { view, signals };
    for (const signal of ["find", "group", "show"]) {
      try { view.signal(signal); } catch (error) { continue; }
      if (signal in signals) { view.signal(signal, signals[signal]); }
      view.addSignalListener(signal, (_, value) => {
        signals[signal] = value;
        if (signal === "find") { countFound(name, value); }
        if (signal === "group") { fit(view); }
      });
    }
    fit(view);
    await view.runAsync();
    target.dataset.drawn = "yes";
  }

  // Make a mosaic as high as the chosen grouping of its nodes.
  function fit(view) {
    let high = 0;
    try { high = view.signal("heights")[view.signal("group")]; } catch (error) { return; }
    for (const signal of ["tall", "height", "concat_0_height", "concat_1_height"]) {
      try { view.signal(signal, high); } catch (error) { continue; }
    }
    setTimeout(() => view.resize().runAsync());
  }

  // Say how many rows the filter finds, by the table of the view.
  function countFound(name, words) {
    const status = document.getElementById(name + "-found");
    const table = document.querySelector("#" + name + " table[data-dataset]");
    if (!status || !table) { return; }
    const fields = JSON.parse(table.dataset.fields), sought = String(words).toLowerCase();
    const rows = rowsOf(table.dataset.dataset);
    const hits = rows.filter((row) => fields.map((field) => row[field]).join(" ").toLowerCase().includes(sought));
    status.textContent = words ? hits.length + " of " + rows.length + " cells and parts match" : "";
  }

  async function drawAll() {
    for (const name of Object.keys(packed.charts)) {
      try {
        await draw(name);
      } catch (error) {
        document.getElementById(name + "-chart").textContent = "This picture could not be drawn: " + error.message;
        console.error(error);
      }
      await new Promise((done) => setTimeout(done));
    }
    root.dataset.ready = "yes";
  }

  function showAll(button) {
    const table = button.parentElement.querySelector("table"), body = table.tBodies[0];
    const fields = JSON.parse(table.dataset.fields);
    const rows = rowsOf(table.dataset.dataset).map((row) => {
      const line = document.createElement("tr");
      for (const field of fields) {
        const cell = document.createElement("td");
        if (typeof row[field] === "number") { cell.className = "number"; }
        cell.textContent = row[field];
        line.append(cell);
      }
      return line;
    });
    body.replaceChildren(...rows);
    button.remove();
  }

  function showTheme() {
    const button = document.getElementById("theme");
    button.setAttribute("aria-pressed", String(isDark()));
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
  }

  function switchTheme() {
    root.dataset.theme = isDark() ? "light" : "dark";
    showTheme();
    return drawAll();
  }

  async function start() {
    showTheme();
    document.getElementById("theme").addEventListener("click", switchTheme);
    preference.addEventListener("change", () => { if (!root.dataset.theme) { showTheme(); drawAll(); } });
    document.getElementById("download").addEventListener("click", async (event) => {
      const link = event.currentTarget;
      if (link.href.startsWith("blob:")) { return; }
      event.preventDefault();
      link.href = URL.createObjectURL(new Blob([await textOf("document")], { type: "application/json" }));
      link.click();
    });
    packed = JSON.parse(await textOf("views"));
    for (const button of document.querySelectorAll("button.more")) {
      button.addEventListener("click", () => showAll(button));
    }
    await drawAll();
  }

  start();
})();
