"""A real Chromium without a window, for tests of pages; it reports what pages log and what they ask the network for."""

import json
import os
import shutil
from functools import cache
from pathlib import Path

import pytest

ARTEFACTS = Path(__file__).resolve().parents[2] / "build" / "reports"
_OWN_SCHEMES = ("file:", "data:", "blob:", "about:", "chrome:")
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome"), ("chromedriver",)


@cache
def missing_programs():
    """Say what of Debian's packages chromium and chromium-driver is not there."""
    return [names[0] for names in _PROGRAMS if not any(map(shutil.which, names))]


class Browser:
    """Opens one page after the other."""

    def __init__(self):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = next(filter(None, map(shutil.which, _PROGRAMS[0])))
        for switch in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"):
            options.add_argument(f"--{switch}")
        options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_script_timeout(30)

    def open(self, path, *, dark=False):
        """Open a report and wait until all is drawn; what was logged before is forgotten."""
        from selenium.webdriver.support.ui import WebDriverWait

        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.set_window_size(1280, 1000)
        self.messages(), self.requests()
        self.driver.get(Path(path).resolve().as_uri())
        WebDriverWait(self.driver, 60).until(lambda _: self.run("return document.documentElement.dataset.ready"))

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def messages(self):
        """Warnings and errors of the console since it was last asked."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")]

    def requests(self):
        """The addresses that pages asked for, beside their own file and what they made themselves."""
        events = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        sent = (event["params"] for event in events if event["method"] == "Network.requestWillBeSent")
        return [one["request"]["url"] for one in sent if not one["request"]["url"].startswith(_OWN_SCHEMES)]

    def hover(self, selector, right, down):
        """Move the mouse to a point of an element, from its upper left corner, and return the text of the tooltip."""
        from selenium.webdriver.common.action_chains import ActionChains

        element = self.driver.find_element("css selector", selector)
        self.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
        box = self.run("const box = arguments[0].getBoundingClientRect(); return [box.left, box.top]", element)
        pointer = ActionChains(self.driver)
        x, y = round(box[0] + right), round(box[1] + down)
        pointer.w3c_actions.pointer_action.move_to_location(x - 3, y)
        pointer.w3c_actions.pointer_action.move_to_location(x, y)
        pointer.perform()
        return self.run("const tip = document.getElementById('vg-tooltip-element'); return tip ? tip.innerText : ''")

    def screenshot(self, name):
        """Keep a picture of the whole page among the artefacts of the build."""
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        height = self.run("return document.documentElement.scrollHeight")
        self.driver.set_window_size(1280, min(height + 20, 8000))
        self.driver.save_screenshot(str(ARTEFACTS / f"{name}.png"))
        self.driver.set_window_size(1280, 1000)


def open_browser():
    """A browser. Skipped where Chromium is missing, unless DRASAT_REQUIRE_BROWSER says that it must be there."""
    if missing_programs() and not os.environ.get("DRASAT_REQUIRE_BROWSER"):
        pytest.skip(f"{' and '.join(missing_programs())} missing: apt-get install chromium chromium-driver")
    return Browser()
