"""The pages of Examples/chat and Examples/feed in a real browser, with 100,000 rows on the real server."""
import functools
import http.server
import subprocess
import sys
import threading

import pytest
from conftest import ROOT, ExampleServer
from playwright.sync_api import expect

COUNT = 100_000


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def files():
    """Starts a web server for the folder Examples. Returns its URL."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=ROOT / "Examples")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def server(tmp_path_factory, files):
    server = ExampleServer(tmp_path_factory.mktemp("examples"), "--allow-origin", files)
    for name in ("chat", "feed"):
        subprocess.run([sys.executable, ROOT / f"Examples/{name}/fill.py", server.url, str(COUNT)], check=True, capture_output=True)
    yield server
    server.kill()


def wheel(page, by):
    """Turns the mouse wheel over the list, and waits until the list has scrolled."""
    before = page.evaluate("list.scrollTop")
    page.mouse.wheel(0, by)
    page.wait_for_function("before => list.scrollTop !== before", arg=before)


def rest(page):
    """Waits until the list has not scrolled for 20 frames, because one turn of the wheel scrolls over several frames.
    """
    page.evaluate("""async () => {
      for (let frames = 0, last; frames < 20; frames++) {
        if (list.scrollTop !== last) frames = 0;
        last = list.scrollTop;
        await new Promise(requestAnimationFrame);
      }
    }""")


def in_sight(page, rows):
    """Returns the texts of the visible rows and their places on the screen."""
    return page.evaluate(
        """rows => {
          const { top, bottom } = list.getBoundingClientRect();
          return [...document.querySelectorAll(rows)].map((row) => [row.textContent, row.getBoundingClientRect()])
            .filter(([, place]) => place.bottom > top && place.top < bottom).map(([text, place]) => [text, Math.round(place.top)]);
        }""",
        rows,
    )


def assert_that_rows_stay(page, rows, before):
    """Checks that no visible row has moved by more than one pixel. Browsers scroll only by whole pixels."""
    after = in_sight(page, rows)
    assert [text for text, _ in after] == [text for text, _ in before]
    assert all(abs(now - then) <= 1 for (_, now), (_, then) in zip(after, before))


def test_chat(page, server, files, screenshot):
    """A chat shows the newest messages and older ones as somebody scrolls up."""
    page.goto(f"{files}/chat/?server={server.url}")
    expect(page.get_by_role("status")).to_have_text("100,000 messages")
    messages = page.locator(".message")
    expect(messages.last).to_contain_text(f"(message {COUNT - 1})")
    expect(messages.last).to_be_in_viewport()
    expect(messages).to_have_count(100)
    # A message that the person sends appears at the end, and is visible.
    page.get_by_label("Message", exact=True).fill("Hello")
    page.keyboard.press("Enter")
    expect(messages.last).to_have_text("MeHello")
    expect(messages.last).to_be_in_viewport()
    screenshot(page, "end")
    # Scrolling up loads older messages, but the page never contains all messages.
    page.locator("#list").hover()
    for _ in range(40):
        wheel(page, -500)
    expect(messages.filter(has_text=f"(message {COUNT - 300})")).to_have_count(1)
    expect(page.get_by_role("button", name="Newest")).to_be_visible()
    assert messages.count() < 200
    # A new message does not move the messages that the person is reading.
    rest(page)
    before = in_sight(page, ".message")
    assert len(before) > 3
    for number in range(3):
        path = "/v1/sessions/chat/sections/messages/rows"
        assert server.request("POST", path, {"at": "end", "model": {"id": f"new {number}", "author": "Ada", "text": "Also new"}})[0] == 201
    expect(page.get_by_role("button", name="3 new")).to_be_visible()
    assert_that_rows_stay(page, ".message", before)
    screenshot(page, "older")
    page.get_by_role("button", name="3 new").click()
    expect(messages.last).to_have_text("AdaAlso new")
    expect(messages.last).to_be_in_viewport()
    expect(messages).to_have_count(100)
    expect(page.locator("#hint")).to_be_hidden()


def test_feed(page, server, files, screenshot):
    """A feed keeps the story that is being read, and says how many are new."""
    page.goto(f"{files}/feed/?server={server.url}")
    expect(page.get_by_role("status")).to_have_text("100,000 stories")
    stories = page.locator(".story")
    expect(stories.first).to_contain_text(f"({COUNT - 1})")
    screenshot(page, "start")
    page.locator("#list").hover()
    for _ in range(40):
        wheel(page, 500)
    expect(stories.filter(has_text=f"({COUNT - 250})")).to_have_count(1)
    assert stories.count() < 200
    rest(page)
    before = in_sight(page, ".story")
    assert len(before) > 3
    # The loop inserts more stories than the window contains.
    for number in range(120):
        path = "/v1/sessions/stories/sections/stories/rows"
        assert server.request("POST", path, {"at": "start", "model": {"id": f"new {number}", "title": f"New {number}", "summary": "Just now."}})[0] == 201
    expect(page.get_by_role("button", name="120 new")).to_be_visible()
    assert_that_rows_stay(page, ".story", before)
    screenshot(page, "new")
    page.get_by_role("button", name="120 new").click()
    expect(stories.first).to_contain_text("New 119")
    expect(stories.first).to_be_in_viewport()
    expect(page.locator("#hint")).to_be_hidden()
    # At the beginning of the list, too, a new story does not move the visible ones.
    rest(page)
    before = in_sight(page, ".story")
    assert server.request("POST", "/v1/sessions/stories/sections/stories/rows", {"at": "start", "model": {"id": "last", "title": "Last", "summary": ""}})[0] == 201
    expect(page.get_by_role("button", name="1 new")).to_be_visible()
    assert_that_rows_stay(page, ".story", before)
