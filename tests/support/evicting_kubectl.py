"""A kubectl for scripts of plans: pods that are evicted come back with other names, where the caller says."""

import json
import os
import stat
import subprocess
import sys

_KUBECTL = """#!{python}
import json, pathlib, sys
folder = pathlib.Path({folder!r})
state = json.loads((folder / "state.json").read_text())
words = sys.argv[1:]
with open(folder / "log", "a") as log:
    print(*words, file=log)
if "--raw" in words:
    name = words[words.index("--raw") + 1].split("/")[-2]
    state["running"].remove(next(one for one in state["running"] if one[0] == name))
elif words[0] == "uncordon" or "--for=delete" in words:
    # Then there is room for those that are to come next, one look later.
    state["coming"] = state["next"].pop(0) if state["next"] else []
elif "get" in words:
    node = next(word for word in words if word.startswith("spec.nodeName=")).split(",")[0].split("=")[1]
    print(*(f"pod/{{name}}" for name, own in state["running"] if own == node), sep="\\n", end="")
    print() if any(own == node for _, own in state["running"]) else None
    state["running"] += state.pop("coming", [])
(folder / "state.json").write_text(json.dumps(state))
"""


def run_script(text, folder, running, arrivals):
    """Run a script of ``-o commands``; ``running`` are names and nodes, ``arrivals`` those that come at each chance."""
    (folder / "state.json").write_text(json.dumps({"running": running, "next": arrivals}))
    kubectl = _KUBECTL.format(python=sys.executable, folder=str(folder))
    for name, lines in {"kubectl": kubectl, "sleep": "#!/bin/sh\n"}.items():
        path = folder / name
        path.write_text(lines)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    paths = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(["sh"], input=text, text=True, capture_output=True, env=paths, timeout=120, check=False)
