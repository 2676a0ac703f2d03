"""Tests of the inspector with tables of up to 140,000 rows. The inspector follows a long table through a window around
the visible rows.
"""
import re

import pytest
from conftest import ExampleServer
from playwright.sync_api import expect

COUNT = 70_000
DESCRIPTION = {
    "table": "long",
    "sections": ["first", "second"],
    "cells": {"Cell": {}},
    "bindings": [{"on": {"sections": ["first", "second"]}, "cell": "Cell", "models": {}, "editing": "delete", "moving": {"to": "anySection"},
                  "dimensions": {"cellHeight": {"$if": "model.isHigh", "then": 60, "else": "automatic"}}}],
}
# The visible rows, each with its title and the place of its upper edge. The result is null while a visible row is not
# loaded yet.
IN_SIGHT = """() => {
  const list = document.querySelector(".scroller");
  const { top, bottom } = list.getBoundingClientRect();
  const seen = (element) => element.getBoundingClientRect().bottom > top + 1 && element.getBoundingClientRect().top < bottom - 1;
  if ([...document.querySelectorAll(".item.gap")].some(seen)) return null;
  const rows = [...document.querySelectorAll(".row")].filter(seen);
  return rows.length === 0 ? null : rows.map((row) => [row.querySelector(".title").textContent, row.getBoundingClientRect().top]);
}"""


def models(name, count):
    # The rows have three different heights.
    return [{"id": f"{name} {number}", "title": f"{name} {number}", "isHigh": number % 7 == 0, "subtitle": "below" * (number % 3 == 0)} for number in range(count)]


def open_session(server, first, second):
    assert server.request("POST", "/v1/sessions", {"id": "long", "table": DESCRIPTION, "models": {"first": models("first", first)}})[0] == 201
    assert server.request("PATCH", "/v1/sessions/long/models", {"second": models("second", second)})[0] == 200
    return server


@pytest.fixture(scope="module")
def longest(tmp_path_factory):
    """Opens a table that is higher than the maximum height of an element in a browser."""
    server = open_session(ExampleServer(tmp_path_factory.mktemp("long")), COUNT, COUNT)
    yield server
    server.kill()


@pytest.fixture
def long(make_server):
    return open_session(make_server(), 4_000, 4_000)


def show(page, server, session="long"):
    page.goto(f"{server.url}/#/sessions/{session}")
    expect(page.locator(".status")).to_have_text("Live")
    return page


def in_sight(page):
    """Waits until all visible rows are loaded, and returns them."""
    return page.wait_for_function(IN_SIGHT).json_value()


def scroll(page, part):
    """Scrolls the list to a place in the table. `part` is a fraction of the table's height."""
    page.evaluate("part => { const list = document.querySelector('.scroller'); list.scrollTop = list.scrollHeight * part; }", part)


def number(title):
    name, index = title.split()
    return int(index) + COUNT * (name == "second")


def follow_on(rows):
    """Whether consecutive rows on the screen are also consecutive rows of the table."""
    numbers = [number(title) for title, _ in rows]
    return all(after in (before + 1, COUNT) for before, after in zip(numbers, numbers[1:])) and all(a[1] < b[1] for a, b in zip(rows, rows[1:]))


def heap(page):
    """Returns the number of bytes that the page's JavaScript objects use."""
    tools = page.context.new_cdp_session(page)
    tools.send("HeapProfiler.collectGarbage")
    return tools.send("Runtime.getHeapUsage")["usedSize"]


def test_scrolling(page, longest, screenshot):
    """A long table is scrolled to its middle, its end and back with few rows in the page."""
    show(page, longest)
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", str(2 * COUNT))
    assert in_sight(page)[0][0] == "first 0"
    before = heap(page)
    for part, least, most in [(0.25, 0.24, 0.26), (0.75, 0.74, 0.76), (1, 0.9998, 1), (0.5, 0.49, 0.51), (0, 0, 0)]:
        scroll(page, part)
        rows = in_sight(page)
        assert least <= number(rows[0][0]) / (2 * COUNT) <= most and follow_on(rows), part
        assert page.locator(".item").count() < 250
        screenshot(page, f"at-{part}")
    for part in range(101):
        scroll(page, part / 100)
    assert in_sight(page)[-1][0] == f"second {COUNT - 1}"
    assert page.locator(".item").count() < 250
    assert heap(page) < before + 5_000_000
    row = page.locator(".row").last
    assert row.get_attribute("aria-rowindex") == str(2 * COUNT)


def test_no_gaps(page, longest):
    """Rows are scrolled through in both directions without a gap or a jump."""
    show(page, longest)
    page.locator(".scroller").hover()
    for part in (0, 0.3):
        scroll(page, part)
        for by in [400] * 25 + [-400] * 20:
            before = dict(in_sight(page))
            page.evaluate("by => new Promise(done => { const list = document.querySelector('.scroller'); list.onscroll = () => requestAnimationFrame(done); list.scrollTop += by })", by)
            after = in_sight(page)
            assert follow_on(after)
            # The rows that were visible before have moved by exactly the distance of the scrolling.
            assert {round(top - before[title]) for title, top in after if title in before} <= {-by}, (part, by)
            assert page.locator(".item").count() < 250


def test_late_rows(page, long, screenshot):
    """Rows that arrive late are gaps, and the page does not say that it is live."""
    show(page, long)
    held = []
    page.route("**/updates?*", lambda route: held.append(route))
    scroll(page, 0.5)
    # The page may show several gaps, one after the other, in place of the rows that have not arrived.
    page.wait_for_function(f"() => ({IN_SIGHT})() === null")
    expect(page.locator(".item.gap")).not_to_have_count(0)
    expect(page.locator(".status")).to_have_text("Connecting…")
    screenshot(page, "gap")
    page.route("**/updates?*", lambda route: route.continue_())
    for route in held:
        route.continue_()
    assert follow_on(in_sight(page))
    expect(page.locator(".status")).to_have_text("Live")


def test_changes_of_others(page, longest):
    """Changes of others above and in sight move no row."""
    show(page, longest)
    scroll(page, 0.4)
    before = in_sight(page)
    # The test waits for the status "Live". The row in the middle is then the anchor of the window.
    expect(page.locator(".status")).to_have_text("Live")
    for number in range(300):
        assert longest.request("POST", "/v1/sessions/long/sections/first/rows", {"at": "start", "model": {"id": f"new {number}", "title": "New", "isHigh": False}})[0] == 201
    expect(page.locator(".moment .revision").first).to_have_text("r301")
    assert in_sight(page) == before
    title = before[5][0]
    assert longest.request("PATCH", f"/v1/sessions/long/sections/first/rows/{title.replace(' ', '%20')}", {"title": "Changed"})[0] == 200
    expect(page.locator(".row", has_text="Changed")).to_be_in_viewport()
    assert [row[1] for row in in_sight(page)] == [row[1] for row in before]
    expect(page.locator("svg.stage")).to_contain_text("Changed")
    # When a row is deleted, the rows below move up. The rows above stay.
    assert longest.request("DELETE", f"/v1/sessions/long/sections/first/rows/{before[6][0].replace(' ', '%20')}")[0] == 200
    expect(page.locator(".row .title", has_text=re.compile(f"^{before[6][0]}$"))).to_have_count(0)
    assert in_sight(page)[:5] == before[:5]


def test_keys(page, long):
    """Keys lead through the table, and a selected row stays selected out of sight."""
    show(page, long)
    page.locator(".row").first.click()
    page.keyboard.press("End")
    expect(page.locator(".row", has_text="second 3999")).to_be_focused()
    page.keyboard.press("Home")
    expect(page.locator(".row").first).to_be_focused()
    for _ in range(160):
        page.keyboard.press("ArrowDown")
    expect(page.locator(".row", has_text="first 160")).to_be_focused()
    page.get_by_role("tab", name="Row").click()
    expect(page.locator(".panel-content h2")).to_have_text("first 160")
    scroll(page, 0.6)
    in_sight(page)
    expect(page.get_by_role("tabpanel")).to_contain_text("not near the rows that are in sight")
    scroll(page, 0)
    in_sight(page)
    expect(page.locator(".panel-content h2")).to_have_text("first 160")
    expect(page.locator(".facts")).to_contain_text("160 in first")


def test_row_in_the_middle(page, long, screenshot):
    """A row in the middle is deleted, moved and changed."""
    show(page, long)
    scroll(page, 0.3)
    titles = [title for title, _ in in_sight(page)]
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label(f"Delete {titles[3]}", exact=True).click()
    page.get_by_label(f"Confirm: delete {titles[3]}", exact=True).click()
    expect(page.locator(".row .title", has_text=re.compile(f"^{titles[3]}$"))).to_have_count(0)
    middle = lambda title: (lambda box: (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2))(page.get_by_label(f"Move {title}", exact=True).bounding_box())
    (x, start), (_, end) = middle(titles[4]), middle(titles[8])
    page.mouse.move(x, start)
    page.mouse.down()
    for step in range(1, 9):
        page.mouse.move(x, start + (end - start) * step / 8)
    screenshot(page, "dragging")
    page.mouse.up()
    expect(page.locator(".moment .revision").first).to_have_text("r3")
    section, index = titles[4].split()[0], int(titles[4].split()[1])
    around = long.request("GET", f"/v1/sessions/long/snapshot?section={section}&offset={index - 10}&limit=30")[1]["sections"][0]["rows"]
    shown = [title for title, _ in in_sight(page)]
    moved = shown.index(titles[4])
    assert moved > shown.index(titles[7])
    ids = [row["id"] for row in around]
    assert ids.index(titles[4]) - ids.index(titles[7]) == moved - shown.index(titles[7])
    page.get_by_role("button", name="Done").click()
    page.locator(".row", has=page.get_by_text(titles[6], exact=True)).click()
    page.get_by_role("tab", name="Row").click()
    page.get_by_label("Model", exact=True).last.fill(f'{{"id": "{titles[6]}", "title": "Written", "isHigh": false}}')
    page.get_by_label("Send Update model").click()
    expect(page.locator(".row", has_text="Written")).to_be_in_viewport()


def test_slider(page, long, screenshot):
    """The slider shows the rows that were known, and the page then continues to be live."""
    show(page, long)
    long.request("PATCH", "/v1/sessions/long/sections/first/rows/first%203", {"title": "Changed"})
    expect(page.locator(".row", has_text="Changed")).to_be_visible()
    scroll(page, 0.5)
    in_sight(page)
    long.request("PATCH", "/v1/sessions/long/sections/first/rows/first%203", {"title": "Changed again"})
    expect(page.locator(".moment .revision").first).to_have_text("r2")
    page.get_by_role("slider", name="Revision").press("ArrowLeft")
    expect(page.locator(".row", has_text="first 3").first).to_be_in_viewport()
    screenshot(page, "past")
    page.get_by_role("button", name="Live").click()
    expect(page.locator(".row", has_text="Changed again")).to_be_in_viewport()
    assert [title for title, _ in in_sight(page)][:6] == ["first 0", "first 1", "first 2", "Changed again", "first 4", "first 5"]
    expect(page.locator(".status")).to_have_text("Live")


def test_restart(page, make_server):
    """The page shows the same rows after a restart of the server."""
    server = open_session(make_server(), 2_000, 0)
    show(page, server)
    scroll(page, 0.5)
    before = in_sight(page)
    server.kill()
    expect(page.locator(".status")).to_have_text("Reconnecting…")
    server.start()
    expect(page.locator(".status")).to_have_text("Live")
    assert in_sight(page) == before
    title = before[4][0]
    server.request("PATCH", f"/v1/sessions/long/sections/first/rows/{title.replace(' ', '%20')}", {"title": "Changed"})
    expect(page.locator(".row", has_text="Changed")).to_be_in_viewport()


def test_table_becomes_long(page, make_server, until):
    """A table that becomes long is followed through a window from then on."""
    server = open_session(make_server(), 300, 0)
    followed = []
    page.on("request", lambda request: followed.append(request.url) if "/updates" in request.url else None)
    show(page, server)
    assert not re.search("limit=|around=", followed[-1])
    scroll(page, 0.5)
    before = in_sight(page)
    server.request("PATCH", "/v1/sessions/long/models", {"second": models("second", 5_000)})
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "5300")
    # The page shows the status "Live" even before it follows the window, so the test waits for the window's request.
    until(lambda: re.search("limit=|around=", followed[-1]))
    expect(page.locator(".status")).to_have_text("Live")
    assert in_sight(page) == before
    scroll(page, 1)
    assert in_sight(page)[-1][0] == "second 4999"
    assert page.locator(".item").count() < 250
