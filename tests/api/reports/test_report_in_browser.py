"""Reports in a real Chromium: they draw everything, load nothing, and can be filtered and read without a mouse."""

import json
from pathlib import Path

import pytest
from support.browser import open_browser
from support.mappings import CLASS, claim, node, pod, pool, template, wish

import drasat

EXAMPLES = Path(__file__).parents[3] / "examples"
HOSTILE = "</script><img src=x onerror=window.hacked=1><b>bold</b>&amp;{{7*7}}"


def loaded(example):
    return drasat.load(EXAMPLES / example)


# By verb, the result, and the views that its report has.
REPORTS = {
    "allocate": (lambda: drasat.allocate(loaded("torus-topology")), ["mosaic", "topology", "sources"]),
    "allocate-objective": (
        lambda: drasat.allocate(loaded("soft-constraints"), objective="soft"),
        ["mosaic", "bound", "soft", "sources"],
    ),
    "plan": (
        lambda: drasat.plan(loaded("plan-queue")),
        ["mosaic", "owners", "missing", "reasons", "changes", "room", "bound", "fragmentation", "nodes", "sources"],
    ),
    "plan-buy": (
        lambda: drasat.plan(loaded("plan-buy"), buy=True, only_new=True),
        ["mosaic", "owners", "room", "cost", "prices", "bound", "fragmentation", "nodes", "sources"],
    ),
    "compare": (
        lambda: drasat.compare(loaded("whole-gpus"), ["backtracking", "auto"]),
        ["engines", "mosaic", "units", "sources"],
    ),
    "compare-plan": (
        lambda: drasat.compare_plans(loaded("plan-queue"), ["first-fit", "plan"]),
        ["planners", "mosaic", "fragmentation", "sources"],
    ),
    "capacity": (lambda: drasat.capacity(loaded("whole-gpus"), pod="ml/training"), ["capacity", "mosaic", "sources"]),
    "queue-capacity": (
        lambda: drasat.queue_capacity(loaded("kueue/j-stranded")),
        ["capacity", "pods", "mosaic", "sources"],
    ),
    "explain": (lambda: drasat.explain(loaded("plan-queue")), ["reasons", "changes", "devices", "mosaic", "sources"]),
    "show": (lambda: drasat.show(loaded("inventory")), ["mosaic", "classes", "nodes", "pools", "claims", "sources"]),
    "provision": (lambda: drasat.provision(loaded("provisioning")), ["requests", "workloads", "timeline", "events"]),
    "quota": (lambda: drasat.quota(loaded("kueue/h-reclaim-newest")), ["workloads", "quota", "flows", "evictions"]),
    "study": (
        lambda: drasat.study(loaded("study"), EXAMPLES / "study" / "studies" / "budget.yaml"),
        ["curves", "heatmap", "frontier", "variants"],
    ),
    "topology": (lambda: drasat.topology(loaded("ring-topology")), ["topology"]),
}


@pytest.fixture(scope="module")
def browser():
    made = open_browser()
    yield made
    made.driver.quit()


@pytest.fixture
def opened(browser, tmp_path):
    """Open the report of a result in the browser."""

    def opened(result, **options):
        result.report(tmp_path / "report.html")
        browser.open(tmp_path / "report.html", **options)
        return browser

    return opened


@pytest.mark.parametrize("verb", REPORTS)
def test_a_report_has_its_views_loads_nothing_and_logs_nothing(opened, verb):
    ask, views = REPORTS[verb]
    browser = opened(ask())
    assert browser.run("return [...document.querySelectorAll('main section')].map((one) => one.id)") == views
    charts = browser.run("return [...document.querySelectorAll('.chart')].map((one) => one.dataset.drawn)")
    assert set(charts) == ({"yes"} if verb != "provision" else set())
    assert browser.run("return document.querySelectorAll('.chart svg.marks, .chart canvas.marks').length") == len(
        charts
    )
    assert browser.messages() == []
    assert browser.requests() == []
    browser.screenshot(verb)


def test_the_page_may_not_load_anything_even_if_it_tried(opened):
    browser = opened(drasat.topology(loaded("ring-topology")))
    script = "const done = arguments[0]; fetch('http://localhost:1/').then(() => done('loaded'), () => done('refused'))"
    assert browser.driver.execute_async_script(script) == "refused"
    assert any("Content Security Policy" in message for message in browser.messages())


def test_the_filter_finds_cells_by_any_word(opened):
    browser = opened(drasat.plan(loaded("plan-queue")))
    box = browser.driver.find_element("css selector", "#mosaic input[type=search]")
    before = browser.run("return document.querySelector('#mosaic-chart svg.marks').outerHTML")
    box.send_keys("job research/TRAIN")
    assert (
        _wait(browser, "return document.getElementById('mosaic-found').textContent") == "8 of 32 cells and parts match"
    )
    faded = "return document.querySelectorAll('#mosaic-chart svg.marks path[opacity=\"0.08\"]').length"
    assert _wait(browser, faded) == 32 - 8
    box.clear()
    box.send_keys("[(*")
    assert "0 of 32" in _wait(browser, "return document.getElementById('mosaic-found').textContent")
    assert browser.messages() == []
    assert before != browser.run("return document.querySelector('#mosaic-chart svg.marks').outerHTML")


def _wait(browser, script):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser.driver, 10).until(lambda _: browser.run(script))


def test_hovering_over_a_device_shows_its_claim(opened):
    browser = opened(drasat.plan(loaded("plan-queue")))
    paths = "[...document.querySelectorAll('#mosaic-chart svg.marks path')]"
    script = (
        f"const at = {paths}.findIndex((one) => one.getAttribute('fill') === '#0072B2' && one.__data__?.datum?.claim);"
        f"const one = {paths}[at]; one.id = 'hovered'; return at"
    )
    assert browser.run(script) >= 0
    shown = browser.hover("#hovered", 8, 20)
    assert "research/train" in shown
    assert "model=h100" in shown


def test_nodes_can_be_grouped_and_the_state_before_be_seen(opened):
    browser = opened(drasat.plan(loaded("plan-queue")))
    from selenium.webdriver.support.ui import Select

    group, show = browser.driver.find_elements("css selector", "#mosaic select")
    Select(group).select_by_visible_text("topology.example.com/rack")
    texts = "return [...document.querySelectorAll('#mosaic-chart svg.marks text')].map((one) => one.textContent)"
    assert {"a", "b"} <= set(_wait(browser, texts))
    blue = "return [...document.querySelectorAll('#mosaic-chart svg.marks path[fill=\"#0072B2\"]')].length"
    assert browser.run(blue) > 8
    Select(show).select_by_visible_text("before")
    # The entry of the legend stays.
    assert _wait(browser, f"return ({blue.removeprefix('return ')}) === 1") is True


def test_colours_follow_the_system_and_the_switch(opened):
    ground = "return getComputedStyle(document.body).backgroundColor"
    browser = opened(drasat.topology(loaded("ring-topology")), dark=True)
    dark = browser.run(ground)
    button = browser.driver.find_element("id", "theme")
    assert (button.text, button.get_attribute("aria-pressed")) == ("Light", "true")
    button.click()
    assert browser.run(ground) != dark
    assert (button.text, button.get_attribute("aria-pressed")) == ("Dark", "false")
    assert _wait(browser, "return document.querySelectorAll('.chart svg.marks').length") == 1
    assert browser.messages() == []


def hostile_cluster():
    devices = [{"name": "gpu-0", "attributes": {"model": {"string": HOSTILE}}}, {"name": "gpu-1"}]
    objects = [
        node("n1"),
        CLASS,
        pool(devices),
        template("t", wish()),
        pod("p", "@t", meta={"labels": {"app": HOSTILE}}),
        claim("loose", wish()),
    ]
    objects[0]["metadata"]["labels"] = {"rack": HOSTILE}
    objects[-1]["metadata"]["name"] = HOSTILE
    return drasat.load(objects, skip_validation=True)


def test_hostile_names_are_inert(opened, tmp_path):
    result = drasat.allocate(hostile_cluster())
    assert result.outcome == "Allocated"
    browser = opened(result)
    assert browser.run("return window.hacked === undefined")
    assert browser.run("return document.querySelectorAll('img, b').length") == 0
    assert HOSTILE in browser.run("return document.querySelector('#sources table').innerText")
    read = browser.run("return document.getElementById('document').textContent")
    assert json.loads(read) == result.to_dict()
    assert HOSTILE not in (tmp_path / "report.html").read_text()
    assert browser.messages() == []


def test_all_rows_of_a_long_table_can_be_shown(opened):
    browser = opened(drasat.show(loaded("torus-topology")))
    browser.run("document.querySelector('#mosaic details').open = true")
    rows = "return document.querySelectorAll('#mosaic tbody tr').length"
    title = browser.run("return document.querySelector('#mosaic .more').textContent")
    browser.run("document.querySelector('#mosaic .more').click()")
    assert title == f"Show all {browser.run(rows)} rows"
    assert browser.run("return document.querySelector('#mosaic .more')") is None


def test_the_data_can_be_downloaded(opened):
    browser = opened(drasat.plan(loaded("plan-queue")))
    link = browser.driver.find_element("id", "download")
    assert link.get_attribute("download") == "drasat-plan.json"
    link.click()
    assert _wait(browser, "return document.getElementById('download').href").startswith("blob:")


def test_a_page_can_be_read_without_a_mouse_or_a_picture(opened):
    browser = opened(drasat.plan(loaded("plan-queue")))
    assert browser.run("return ['header', 'nav', 'main', 'footer'].every((one) => document.querySelector(one))")
    assert browser.run("return document.querySelectorAll('h1').length") == 1
    titled = "return [...document.querySelectorAll('main section')].every((one) => one.querySelector('h2').innerText)"
    assert browser.run(titled)
    labelled = (
        "return [...document.querySelectorAll('.chart')].every((one) => one.getAttribute('role') === 'figure' && "
        "one.getAttribute('aria-labelledby').split(' ').every((id) => document.getElementById(id)) && "
        "one.closest('section').querySelector('table'))"
    )
    assert browser.run(labelled)
    fields = "return [...document.querySelectorAll('input, select')].every((one) => one.labels[0].innerText)"
    assert browser.run(fields)
    from selenium.webdriver.common.keys import Keys

    browser.driver.find_element("css selector", "body").send_keys(Keys.TAB)
    assert browser.run("return document.activeElement.className") == "skip"
    reached = set()
    for _ in range(40):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        reached.add(browser.run("return document.activeElement.id || document.activeElement.tagName"))
    assert {"theme", "download", "INPUT", "SELECT", "SUMMARY", "mosaic-chart"} <= reached
