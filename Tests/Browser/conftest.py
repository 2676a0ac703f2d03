"""Starts a real browser and the real server, for tests of the pages and scripts that browsers load."""
import json
import os
import pathlib
import re
import shutil
import urllib.error
import urllib.request

import pytest
from playwright.sync_api import expect, sync_playwright

from server import ROOT, Server, wait_until

# Playwright's usual limit of 5 seconds is too short on a busy machine, so `expect` waits up to 60 seconds.
expect.set_options(timeout=60_000)
SCREENSHOTS = pathlib.Path(os.environ.get("BRAID_SCREENSHOTS", ROOT / ".build/screenshots"))


class ExampleServer(Server):
    """A server with the examples' tables and sessions. Its database is a file, so a test can start the server again."""

    def __init__(self, directory, *options, token=None):
        super().__init__("--fixtures", ROOT / "Examples", *options, database=directory / "braid.sqlite", token=token)

    def request(self, method, path, body=None):
        """Sends a request as another client would do. Returns the status and the JSON of the answer."""
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {self.token}"} if self.token else {})}
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, data, headers, method=method), timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as refusal:
            return refusal.code, json.loads(refusal.read())

    def snapshot(self, session="party"):
        return self.request("GET", f"/v1/sessions/{session}/snapshot")[1]


@pytest.fixture(scope="session")
def browser():
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("there is no Chromium here, and it could not be installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--host-resolver-rules=MAP tables.test 127.0.0.1"])
        yield browser
        browser.close()


@pytest.fixture
def make_server(tmp_path):
    """Starts servers: `make_server(*options)`. Each server ends with the test."""
    servers = []

    def make(*options, **arguments):
        directory = tmp_path / str(len(servers))
        directory.mkdir()
        servers.append(ExampleServer(directory, *options, **arguments))
        return servers[-1]

    yield make
    for server in servers:
        server.kill()


@pytest.fixture
def server(make_server):
    return make_server()


@pytest.fixture
def make_page(browser):
    """Opens pages: `make_page(**options)`, with the options of a Playwright context. An error in one of the pages fails
    the test.
    """
    contexts, faults = [], []

    def make(**options):
        context = browser.new_context(**{"reduced_motion": "reduce", **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        # The console reports violations of the page's security policy. It also reports failed requests, which do not
        # count, because some tests cause them.
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" and "Failed to load resource" not in message.text and "net::ERR" not in message.text else None)
        return page

    yield make
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture
def page(make_page):
    return make_page()


@pytest.fixture
def screenshot(request):
    """Saves a screenshot of the page, for people who look at the test run: `screenshot(page, "name")`."""

    def take(page, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        test = re.sub(r"\W+", "-", request.node.name).strip("-")
        page.screenshot(path=SCREENSHOTS / f"{test}-{name}.png", full_page=True)

    return take


@pytest.fixture
def until(page):
    """Waits until a condition is true: `until(lambda: …)`. Playwright calls the handlers of routes meanwhile."""
    return lambda condition: wait_until(condition, lambda seconds: page.wait_for_timeout(1000 * seconds))
