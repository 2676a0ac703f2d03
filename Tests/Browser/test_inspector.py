"""Tests of the inspector in a real browser, with the real server and all examples. `expect` waits until its condition
is true.
"""
import json
import random
import re
import subprocess
import urllib.request

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import ROOT, ExampleServer
from playwright.sync_api import TimeoutError as PlaywrightTimeout, expect

PARTY = ["Christa's Party", "Jonathan", "Omar", "Sara", "Yvonne", "Kalinda"]
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    server = ExampleServer(tmp_path_factory.mktemp("shared"))
    yield server
    server.kill()


@pytest.fixture
def server(shared):
    """A server that all tests share. Each test finds the examples' sessions in their first state."""
    for session in shared.request("GET", "/v1/sessions?limit=1000")[1]["sessions"]:
        # The server answers 404 if the page of the previous test has already ended its preview session.
        assert shared.request("DELETE", f"/v1/sessions/{session['id']}")[0] in (204, 404)
    for path in sorted(ROOT.glob("Examples/*/*.session.json")):
        assert shared.request("POST", "/v1/sessions", json.loads(path.read_text()))[0] == 201
    return shared


@pytest.fixture
def show(page, server):
    """Shows a session in the inspector: `show("party")`."""

    def show(session, page=page):
        page.goto(f"{server.url}/#/sessions/{session}")
        expect(page.locator(".status")).to_have_text("Live")
        return page

    return show


def rows(page):
    """Returns the titles of the rows, from top to bottom."""
    return page.locator(".row .title")


def edit(page):
    page.get_by_role("button", name="Edit", exact=True).click()


def panel(page, name):
    page.get_by_role("tab", name=name).click()


def names(server, session="party", section=None):
    sections = server.snapshot(session)["sections"]
    return [row["id"] for part in sections if section in (None, part["id"]) for row in part["rows"]]


def drag(page, name, y):
    """Drags a row by its handle to the vertical position `y`, in several steps, and does not drop the row."""
    box = page.get_by_label(f"Move {name}", exact=True).bounding_box()
    x, start = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, start)
    page.mouse.down()
    for step in range(1, 9):
        page.mouse.move(x, start + (y - start) * step / 8)


def middle(page, name):
    box = page.locator(".item.row", has=page.get_by_text(name, exact=True)).bounding_box()
    return box["y"] + box["height"] / 2


# Tests of the lists of sessions and descriptions


def test_lists_and_search(page, server, screenshot):
    """The page lists sessions and descriptions and finds them."""
    page.goto(server.url)
    sessions = page.get_by_role("region", name="Sessions").get_by_role("link")
    expect(sessions).to_have_count(7)
    expect(page.get_by_role("region", name="Table descriptions").get_by_role("link")).to_have_count(9)
    screenshot(page, "lists")
    page.get_by_label("Search sessions and tables").fill("atten")
    expect(sessions).to_have_text([re.compile("party")])
    sessions.click()
    expect(rows(page)).to_have_text(PARTY)


def test_a_search_finds_a_session_of_a_later_page(page, server):
    commands = [server.request("POST", "/v1/sessions", {"rows": [], "id": f"many-{number:03}"})[0] for number in range(120)]
    assert set(commands) == {201}
    page.goto(server.url)
    page.get_by_label("Search sessions and tables").fill("shop")
    expect(page.get_by_role("region", name="Sessions").get_by_role("link", name="shop")).to_be_visible()


def test_early_search(page, server, until):
    """A search that is typed before the sessions are listed finds each of them once."""
    for number in range(220):
        server.request("POST", "/v1/sessions", {"rows": [], "id": f"many-{number:03}"})
    pages = []
    page.route("**/v1/sessions?*", lambda route: pages.append(route))
    page.goto(server.url)
    for keys in ("man", "y-", "21"):
        page.get_by_label("Search sessions and tables").press_sequentially(keys)
        until(lambda: pages)
        assert len(pages) == 1, "a page that is being read is read again"
        pages.pop().continue_()
    expect(page.get_by_role("region", name="Sessions").get_by_role("link")).to_have_count(10)
    assert pages == []


def test_sessions_are_opened_reset_and_ended(show, server):
    page = show("party")
    page.get_by_role("button", name="Open a session").click()
    page.get_by_role("dialog").get_by_label("Table").select_option("news")
    page.get_by_role("dialog").get_by_label("Id").fill("morning")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_role("heading", name="morning")).to_be_visible()
    expect(rows(page)).to_have_count(4)
    panel(page, "Requests")
    expect(page.locator(".requests li")).to_have_text([re.compile(r'^POST/v1/sessions\d+ ms\{"table":"news","id":"morning"\}')])
    server.request("PATCH", "/v1/sessions/morning/models", {"table": []})
    expect(page.locator(".empty-table")).to_be_visible()
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("button", name="Reset to the opening").click()
    expect(rows(page)).to_have_count(4)
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("button", name="End the session").click()
    page.get_by_role("button", name="End it").click()
    expect(page.get_by_role("region", name="Sessions").get_by_role("link")).to_have_count(7)
    assert server.request("GET", "/v1/sessions/morning")[0] == 404


# Tests of editing and moving in the example `attendees`


def test_attendees_delete(show, server, screenshot):
    """Minus and Delete send the edit and show its update."""
    page = show("party")
    expect(page.get_by_label("Delete Omar", exact=True)).to_be_hidden()
    edit(page)
    page.get_by_label("Delete Omar", exact=True).click()
    screenshot(page, "confirm")
    page.get_by_label("Confirm: delete Omar").click()
    expect(rows(page)).to_have_text(["Christa's Party", "Jonathan", "Sara", "Omar", "Yvonne", "Kalinda"])
    assert names(server, section="invited") == ["Omar", "Yvonne", "Kalinda"]
    expect(page.locator(".shown .command")).to_have_text('edits{"delete":{"id":"Omar"}}')
    expect(page.get_by_role("img", name="move rows: 1")).to_be_visible()
    update = server.request("GET", "/v1/sessions/party/updates?since=0")[1]["updates"][0]
    assert json.loads(page.get_by_label("Update of revision 1").inner_text()) == update
    screenshot(page, "deleted")


def test_attendees_a_row_is_dragged_into_another_section(show, server, screenshot):
    page = show("party")
    edit(page)
    drag(page, "Kalinda", middle(page, "Omar"))
    screenshot(page, "dragging")
    assert names(server) == ["1", "Jonathan", "Omar", "Sara", "Yvonne", "Kalinda"], "nothing is sent before the row is dropped"
    page.mouse.up()
    expect(page.locator(".revision").first).to_have_text("r1")
    expect(rows(page)).to_have_text(["Christa's Party", "Jonathan", "Kalinda", "Omar", "Sara", "Yvonne"])
    assert names(server, section="attending") == ["Jonathan", "Kalinda", "Omar", "Sara"]


def test_attendees_drop(show, server):
    """A row is dropped only where the description allows it."""
    page = show("party")
    edit(page)
    expect(page.get_by_label("Move Christa's Party")).to_have_count(0)
    drag(page, "Yvonne", middle(page, "Christa's Party"))
    expect(page.locator(".row", has_text="Christa's Party")).to_have_attribute("data-closed", "")
    page.mouse.up()
    expect(page.locator(".revision").first).to_have_text("r1")
    assert names(server, section="description") == ["1"]
    assert names(server, section="attending") == ["Yvonne", "Jonathan", "Omar", "Sara"]


def test_attendees_keyboard(show, server):
    """A row is moved by keyboard, and Escape leaves it where it was."""
    page = show("party")
    edit(page)
    said = page.locator("#announcer")
    page.get_by_label("Move Sara").focus()
    page.keyboard.press("Space")
    expect(said).to_contain_text("Arrow keys")
    page.keyboard.press("ArrowDown")
    expect(said).to_have_text("INVITED, 1 of 3")
    page.keyboard.press("Escape")
    expect(said).to_have_text("Left where it was.")
    expect(rows(page)).to_have_text(PARTY)
    assert server.snapshot()["revision"] == 0
    for key in ["Enter", "ArrowDown", "ArrowDown", "Enter"]:
        page.keyboard.press(key)
    expect(said).to_have_text("1 row moved")
    assert names(server, section="invited") == ["Yvonne", "Sara", "Kalinda"]
    expect(page.get_by_label("Move Sara")).to_be_focused()


# Tests of the examples other than `attendees`


def test_accounts_controls_emit_cell_events_and_taps_tap(show, server, screenshot):
    page = show("bank")
    page.get_by_role("radio", name="business").click()
    expect(rows(page)).to_have_text(["Business Checking", "Travel Rewards Visa"])
    expect(page.get_by_role("radio", name="business")).to_have_attribute("aria-checked", "true")
    page.get_by_role("button", name="closed").click()
    expect(page.locator(".item.row", has_text="Open a savings account")).to_have_count(0)
    page.locator(".row", has_text="Travel Rewards Visa").click()
    panel(page, "Updates")
    expect(page.locator(".cell-event", has_text="emitted")).to_contain_text('opened {"number":"658***778"}')
    assert server.snapshot("bank")["state"] == {"filter": "business"}
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_label("Show hidden sections").check()
    page.keyboard.press("Escape")
    expect(page.locator(".item.hidden")).to_have_text(["banner · hidden", "savings · hidden"])
    screenshot(page, "business")


def test_artists_live(show, server, screenshot):
    """A response of the backend appears at once."""
    page = show("library")
    server.request("PUT", "/v1/sessions/library/models", {
        "Nina Simone": [{"id": "sinnerman", "title": "Sinnerman", "album": "Pastel Blues", "length": "10:22"}],
        "Bill Withers": [{"id": "use-me", "title": "Use Me", "album": "Still Bill", "length": "3:47"}]})
    expect(page.locator(".header [role=heading]")).to_have_text(["Bill Withers", "Nina Simone"])
    expect(page.locator(".item.footer")).to_have_text(["1 song", "1 song"])
    expect(page.locator(".row .detail")).to_have_text(["3:47", "10:22"])
    screenshot(page, "response")


def test_form_text_switches_and_dates_are_entered(show, server, screenshot):
    page = show("event")
    page.get_by_label("Event name").fill("Picnic")
    page.keyboard.press("Enter")
    page.get_by_text("Start time").click()
    page.locator("input[type=time]").fill("08:30")
    page.locator("input[type=time]").press("Enter")
    expect(page.locator(".row", has_text="Start time")).to_contain_text("08:30")
    screenshot(page, "picker")
    page.get_by_role("switch", name="All-day").click()
    expect(page.get_by_role("switch", name="All-day")).to_have_attribute("aria-checked", "true")
    expect(page.locator("input[type=time]")).to_have_count(0)
    state = server.snapshot("event")["state"]
    assert (state["title"], state["startTime"], state["isAllDay"]) == ("Picnic", "08:30", True)
    # In the inspector, the panel `Updates` shows taps and cell events in one list.
    panel(page, "Updates")
    expect(page.locator(".cell-event", has_text="tap · startTime")).to_have_count(1)
    expect(page.locator(".cell-event", has_text="textEntered")).to_contain_text('{"text":"Picnic"} · title')


def test_form_held_button(show, server):
    """A button that is held down is clicked even if the table changes meanwhile."""
    page = show("event")

    def click_while_changed(locator, state):
        locator.hover()
        page.mouse.down()
        assert server.request("PATCH", "/v1/sessions/event/state", state)[0] == 200
        # The page shows the new revision, but keeps the element on which the pointer is pressed.
        expect(page.locator(".screen .subtitle").first).to_contain_text(f"revision {server.snapshot('event')['revision']} ")
        page.mouse.up()

    click_while_changed(page.get_by_role("switch", name="All-day"), {"notes": "of 1"})
    expect(page.get_by_role("switch", name="All-day")).to_have_attribute("aria-checked", "true")
    click_while_changed(page.get_by_role("switch", name="All-day"), {"notes": "of 2"})
    expect(page.get_by_role("switch", name="All-day")).to_have_attribute("aria-checked", "false")
    click_while_changed(page.locator(".row", has_text="Start time"), {"startTime": "08:15"})
    # After the release, the page also shows the change that it had postponed.
    expect(page.locator(".row", has_text="Start time")).to_contain_text("08:15")
    expect(page.locator("input[type=time]")).to_have_value("08:15")
    # The panel is drawn a moment after the table, and its elements move then.
    expect(page.locator(".moment").first).to_have_attribute("data-revision", str(server.snapshot("event")["revision"]))
    click_while_changed(page.locator(".moment").nth(2), {"notes": "of 3"})
    expect(page.locator(".screen")).to_have_class(re.compile("past"))
    page.get_by_role("button", name="Live", exact=True).click()
    click_while_changed(page.get_by_role("link", name="party"), {"active": ""})
    expect(page).to_have_url(re.compile("party$"))


def test_form_refusal(show, server, screenshot):
    """A refusal says why, and the control shows the stored value."""
    page = show("event")
    page.get_by_text("Start time").click()
    page.locator("input[type=time]").fill("23:00")
    page.locator("input[type=time]").press("Enter")
    expect(page.get_by_role("alert").filter(has_text="Rejected")).to_contain_text("An event cannot end before it starts.")
    expect(page.locator("input[type=time]")).to_have_value("09:00")
    assert server.snapshot("event")["state"]["startTime"] == "09:00"
    screenshot(page, "refused")


def of_event(type):
    """The parameters of an event: `value`, and others that only the row's content can tell."""
    return {"properties": {"value": {"type": type}, "by": {"type": "string"}, "stars": {"type": "uint8"}, "rank": {"enum": ["low", "high"]},
                           "level": {"enum": ["low", "high"]}, "isNew": {"type": "boolean"}, "seen": {"type": "uint8", "nullable": True}},
            "optionalProperties": {"place": {"type": "string"}, "note": {"type": "string"}}}


OTHERS = {"by": "Ann", "stars": 3, "rank": "high", "level": "low", "isNew": False, "seen": None, "place": "Rome"}


@pytest.mark.parametrize("type, content, enter, value", [
    ("string", {"text": ""}, lambda row: (row.get_by_role("textbox").fill("typed"), row.get_by_role("textbox").press("Enter")), "typed"),
    ("string", {"segments": ["a", "b"]}, lambda row: row.get_by_role("radio", name="b").click(), "b"),
    ("boolean", {"isOn": False}, lambda row: row.get_by_role("switch").click(), True),
    ("string", {"date": "2026-01-01"}, lambda row: (row.locator("input").fill("2026-01-02"), row.locator("input").press("Enter")), "2026-01-02"),
], ids=["field", "segments", "switch", "date"])
def test_control_parameters(show, server, type, content, enter, value):
    """A cell's control sends all parameters of its event."""
    known = {"id": "a", "title": "Name", "by": "Ann", "stars": 3, "rank": "high", "place": "Rome"}
    opened(server, {"cells": {"Cell": {"events": {"entered": of_event(type)}}}, "bindings": [{"cell": "Cell", "models": [{**known, **content}]}]})
    page = show("test")
    with page.expect_response("**/events*") as answer:
        enter(page.locator(".item.row"))
    assert answer.value.status == 200, answer.value.text()
    assert answer.value.request.post_data_json["event"] == {"entered": {"value": value, **OTHERS}}


def test_enter_in_panel(show, server):
    """Enter in a field of the panel sends all parameters of the event."""
    model = {"id": "a", "title": "Name", "by": "Ann", "stars": 3, "rank": "high", "place": "Rome"}
    opened(server, {"cells": {"Cell": {"events": {"entered": of_event("string")}}}, "bindings": [{"cell": "Cell", "models": [model]}]})
    page = show("test")
    rows(page).click()
    panel(page, "Row")
    field = page.get_by_role("textbox", name="value")
    field.fill("typed")
    with page.expect_response("**/events*") as answer:
        field.press("Enter")
    assert answer.value.status == 200, answer.value.text()
    assert answer.value.request.post_data_json["event"] == {"entered": {"value": "typed", **OTHERS, "note": ""}}


def test_home_cells_have_their_looks_and_heights(show, server, screenshot):
    page = show("shop")
    heights = {name: page.locator(".row", has_text=name).bounding_box()["height"] for name in ["Shopping made easy", "Kettle"]}
    assert heights == {"Shopping made easy": 60, "Kettle": 80}
    expect(page.locator(".row", has_text="Kettle").get_by_role("img", name="kettle.png")).to_be_visible()
    expect(page.locator(".header [role=heading]")).to_have_text(["Stores near you", "Recommended"])
    screenshot(page, "home")


def test_news_prefetch(show, server, screenshot):
    """Displayed rows are reported, and more rows follow."""
    page = show("feed")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_label("Report displayed rows").check()
    page.keyboard.press("Escape")
    panel(page, "Updates")
    expect(page.locator(".cell-event", has_text="emitted")).to_contain_text('wanted {"from":4}')
    items = [row["model"] for row in server.snapshot("feed")["sections"][0]["rows"]]
    more = [{"id": f"n{n}", "title": f"News {n}", "summary": "", "isAd": False} for n in (5, 6)]
    server.request("PATCH", "/v1/sessions/feed/models", {"table": items + more})
    expect(rows(page)).to_have_count(6)
    screenshot(page, "feed")


def test_list_empty_state(show, server):
    """When the last row is deleted, the empty state is shown."""
    page = show("contacts")
    expect(page.locator(".row .subtitle")).to_have_text("members 2")
    edit(page)
    for name in ["Ada Lovelace", "Analytical Engine", "Charles Babbage"]:
        page.get_by_label(f"Delete {name}", exact=True).click()
        page.get_by_label(f"Confirm: delete {name}").click()
        expect(page.locator(".row", has_text=name)).to_have_count(0)
    expect(page.locator(".empty-table")).to_have_text("No contacts yet")
    assert server.snapshot("contacts")["totalRowCount"] == 0


# Tests of features of descriptions that the examples do not use


def opened(server, description, **opening):
    table = {"table": "test", "cells": {"Cell": {}}, **description}
    status, snapshot = server.request("POST", "/v1/sessions", {"table": table, "id": "test", **opening})
    assert status == 201, snapshot


def test_plus(show, server):
    """Plus inserts a row, and asks for the model if one is needed."""
    opened(server, {"bindings": [{"cell": "Cell", "models": [{"id": "a", "title": "Add one"}], "editing": "insert"}]})
    page = show("test")
    edit(page)
    page.get_by_label("Insert at Add one").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("JSON").fill("{")
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.get_by_role("alert")).not_to_be_empty()
    dialog.get_by_label("JSON").fill('{"id": "b", "title": "New"}')
    dialog.get_by_role("button", name="Send").click()
    expect(rows(page)).to_have_text(["New", "Add one"])


def test_drag_into_empty_section(show, server):
    """A row is dragged into a section without rows."""
    models = {"full": [{"id": "a", "title": "Mover"}, {"id": "b", "title": "Stayer"}], "none": []}
    opened(server, {"sections": ["full", "none"], "bindings": [
        {"on": "allOtherSections", "cell": "Cell", "models": models, "headers": {"full": "FULL", "none": "NONE"}, "moving": {"to": "anySection"}}]})
    page = show("test")
    edit(page)
    header = page.locator(".header", has_text="NONE").bounding_box()
    drag(page, "Mover", header["y"] + header["height"])
    page.mouse.up()
    expect(page.locator(".revision").first).to_have_text("r1")
    assert (names(server, "test", "full"), names(server, "test", "none")) == (["b"], ["a"])


def test_unknown_cell(show, server):
    """A cell without a look shows its view model."""
    opened(server, {"bindings": [{"cell": "Cell", "viewModels": [{"id": "a", "bars": [3, 1, 4]}, {"id": "b", "title": "Known"}]}]})
    page = show("test")
    expect(page.locator(".unknown")).to_have_text(re.compile(r'Cell\{ "id": "a", "bars": \[3, 1, 4\] \}'))


# A value that JavaScript cannot convert to a text: the conversion throws an error, because `toString` is no function.
NO_TEXT = {"toString": "x"}


@pytest.mark.parametrize("content", [
    {"isOn": True, "title": NO_TEXT}, {"segments": ["one"], "title": NO_TEXT}, {"segments": ["one"], "title": {"toString": 1}},
    {"placeholder": "Name", "text": NO_TEXT}, {"date": "2026-01-01", "mode": NO_TEXT}, {"date": "2026-01-01", "title": [{"toString": 1}]},
    {"mode": "date", "picks": NO_TEXT}, {"image": "map.png", "imageURL": NO_TEXT},
], ids=json.dumps)
def test_odd_content(show, server, content):
    """A row with any content is drawn, and hides no row behind it."""
    opened(server, {"cells": {"DateCell": {}}, "bindings": [{"cell": "DateCell", "viewModels": [{"id": "a", **content}, {"id": "b", "title": "Behind"}]}]})
    page = show("test")
    expect(rows(page)).to_have_text(["Behind"])
    expect(page.locator(".unknown")).to_have_count(0)
    look = {"isOn": "switch", "segments": "radiogroup", "image": "img"}.get(next(iter(content)))
    expect(page.locator(".row").first.get_by_role(look) if look else page.locator(".row input")).to_have_count(1)


def test_failing_look(show, server, page):
    """If a look fails, the content is shown."""
    page.add_init_script("URL.canParse = () => { throw new Error('as in a browser that is too old') }")
    opened(server, {"bindings": [{"cell": "Cell", "viewModels": [{"id": "a", "image": "/a.png"}, {"id": "b", "title": "Behind"}]}]})
    show("test")
    expect(page.locator(".unknown")).to_have_text(re.compile("a.png"))
    expect(rows(page)).to_have_text(["Behind"])


def test_values_that_are_no_text(show, server):
    """Values that are not texts are shown neither in fields nor in the empty table."""
    events = {"typed": {"properties": {"text": {"type": "string"}, "count": {"type": "int8"}}}}
    models = [{"id": "a", "title": "Odd", "text": NO_TEXT, "count": NO_TEXT}]
    opened(server, {"cells": {"Cell": {"events": events}}, "bindings": [{"cell": "Cell", "models": models}], "empty": {"title": NO_TEXT, "text": "None left"}})
    page = show("test")
    rows(page).click()
    panel(page, "Row")
    expect(page.get_by_label("text", exact=True)).to_have_value("")
    expect(page.get_by_label("count", exact=True)).to_have_value("0")
    server.request("PATCH", "/v1/sessions/test/models", {"table": []})
    expect(page.locator(".empty-table")).to_have_text("None left")


def test_nothing_of_a_model_is_run_or_loaded(show, server, page):
    requests, dialogs = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    attack = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    rows = [{"id": attack, "title": attack, "subtitle": attack, "detail": attack, "image": "javascript:alert(3)"},
            {"id": "b", "title": "b", "imageURL": "data:text/html,<script>alert(4)</script>"}, {"id": "c", "text": attack, "title": attack, "placeholder": attack},
            {"id": "d", "other": {attack: attack}}, {"id": "e", "segments": [attack], "chosen": attack}, {"id": "f", "isOn": True, "title": attack}]
    opened(server, {"sections": ["a"], "bindings": [{"on": "allOtherSections", "cell": "Cell", "viewModels": {"a": rows}, "headers": {"a": attack}, "footers": {"a": attack}}]})
    page = show("test")
    expect(page.locator(".row .title").first).to_have_text(attack)
    for name in ["Row", "Session", "Requests", "Updates"]:
        page.locator(".row .title").first.click()
        panel(page, name)
    server.request("PATCH", "/v1/sessions/test/headers", {"a": attack * 2})
    expect(page.locator(".header [role=heading]")).to_have_text(attack * 2)
    assert page.locator(".item img, .item script, #panel img, #panel script").count() == 0
    assert dialogs == [] and all(url.startswith(server.url) for url in requests)


def test_stages(show, server, screenshot):
    """Each stage is drawn as the table before it and the table after it."""
    models = {"a": ["one", "two", "three"], "b": ["four", "five"], "c": ["six"], "d": ["seven"]}
    opened(server, {"sections": ["a", "b", "c", "d"], "sectionDisplay": {"behavior": "manuallyManaged", "displayed": ["a", "b", "c"]}, "bindings": [
        {"on": "allOtherSections", "cell": "Cell", "viewModel": {"title": "${model.t}"}, "models": {id: [{"id": t, "t": t} for t in titles] for id, titles in models.items()}}]})
    page = show("test")
    changed = {"a": [{"id": "three", "t": "three"}, {"id": "one", "t": "ONE"}, {"id": "new", "t": "new"}], "c": [{"id": "six", "t": "SIX"}]}
    server.request("POST", "/v1/sessions/test/transactions", {"commands": [{"displayedSections": ["c", "a", "d"]}, {"patchModels": changed}]})
    stages = page.locator("svg.stage")
    expect(stages).to_have_count(2)
    texts = lambda stage, what="": stages.nth(stage).locator(f"{what} text").all_text_contents()
    assert " ".join(texts(0)) == "a one two three b four five c ⋮ 1 row c ⋮ 1 row a three one new d seven"
    assert " ".join(texts(1)) == "c six a three one new d ⋮ 1 row c SIX a three ONE new d ⋮ 1 row"
    assert [texts(0, mark) for mark in [".deleted", ".inserted", ".moved"]] == [["two", "b", "four", "five"], ["new", "d", "seven"], ["one", "c", "c", "one"]]
    assert texts(1, ".reloaded") == ["six", "one", "SIX", "ONE"]
    screenshot(page, "stages")


def test_a_session_without_a_table_is_managed_row_by_row(show, server):
    assert server.request("POST", "/v1/sessions", {"id": "list", "rows": [{"id": "a", "type": "person", "name": "Ada"}]})[0] == 201
    page = show("list")
    rows(page).first.click()
    panel(page, "Row")
    page.get_by_role("textbox", name="Model").fill('{"id": "a", "type": "person", "name": "Ada Lovelace"}')
    page.get_by_role("button", name="Send Update model").click()
    expect(rows(page)).to_have_text(["Ada Lovelace"])
    panel(page, "Session")
    page.get_by_label("Command", exact=True).select_option("rows")
    page.get_by_label("Body").fill('{"at": [0, 1], "model": {"id": "b", "type": "person", "name": "Grace"}}')
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_role("region", name="Answer")).to_contain_text('"outcome": "applied"')
    assert server.snapshot("list")["totalRowCount"] == 1
    page.get_by_role("button", name="Send", exact=True).click()
    expect(rows(page)).to_have_text(["Ada Lovelace", "Grace"])


def test_ten_thousand_rows(show, server):
    """Of ten thousand rows, few are in the page."""
    models = [{"id": f"row {number}", "title": f"Row {number}"} for number in range(10_000)]
    opened(server, {"bindings": [{"cell": "Cell"}]}, models={"table": models})
    page = show("test")
    grid = page.get_by_role("grid")
    expect(grid).to_have_attribute("aria-rowcount", "10000")
    rows(page).first.click()
    page.keyboard.press("End")
    expect(page.locator(".row", has_text="Row 9999")).to_be_focused()
    assert page.locator(".item").count() < 200
    server.request("PATCH", "/v1/sessions/test/models", {"table": [*models[:9_998], {"id": "new", "title": "New"}, *models[9_998:]]})
    expect(rows(page).filter(has_text="New")).to_be_in_viewport()
    expect(page.locator("svg.stage")).to_contain_text("New: inserted")


def test_quick_updates(make_page, show, server):
    """Many updates in quick succession lead to the server's table."""
    models = [{"id": f"row {number}", "title": f"Row {number}"} for number in range(40)]
    opened(server, {"bindings": [{"cell": "Cell"}]}, models={"table": models})
    page = show("test", make_page(reduced_motion="no-preference"))
    chance = random.Random(5)
    for _ in range(300):
        models.insert(chance.randrange(40), models.pop(chance.randrange(40)))
        server.request("PATCH", "/v1/sessions/test/models", {"table": models})
    expect(rows(page)).to_have_text([model["title"] for model in models])
    page.wait_for_function("() => document.getAnimations().length === 0")
    tops = page.evaluate("[...document.querySelectorAll('.row')].map(row => row.getBoundingClientRect().top)")
    assert tops == sorted(tops)


def test_update_panel(show, server):
    """The panel of updates keeps the nodes of one revision only."""
    page = show("party")
    page.evaluate("""() => {
      const update = async () => {
        const answer = await fetch("/v1/sessions/party/state", {
          method: "PATCH", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ random: Math.random() }),
        });
        return (await answer.json()).revision;
      };
      const shows = (revision) => document.querySelector(".moments .shown .revision")?.textContent === `r${revision}`;
      window.update = async (count, isEachShown) => {
        for (let i = 1; i <= count; i++) {
          const revision = await update();
          while ((isEachShown || i === count) && !shows(revision)) await new Promise(requestAnimationFrame);
        }
      };
    }""")
    devtools = page.context.new_cdp_session(page)

    def nodes():
        devtools.send("HeapProfiler.collectGarbage")
        return devtools.send("Memory.getDOMCounters")["nodes"]

    # The list is as long as it gets.
    page.evaluate("update(60, false)")
    before = nodes()
    page.evaluate("update(25, true)")
    assert nodes() < before + 1000


def test_scrolling_back(show, server):
    """Scrolling back through rows that were never measured does not jump."""
    models = [{"id": f"row {number}", "title": f"Row {number}", "subtitle": "of many"} for number in range(2_000)]
    opened(server, {"bindings": [{"cell": "Cell"}]}, models={"table": models})
    page = show("test")
    rows(page).first.click()
    page.keyboard.press("End")
    expect(page.locator(".row", has_text="Row 1999")).to_be_focused()
    tops = "() => Object.fromEntries([...document.querySelectorAll('.row')].map(row => [row.querySelector('.title').textContent, row.getBoundingClientRect().top]))"
    for _ in range(4):
        before = page.evaluate(tops)
        page.evaluate("new Promise(done => { const list = document.querySelector('.scroller'); list.onscroll = () => requestAnimationFrame(done); list.scrollTop -= 600 })")
        after = page.evaluate(tops)
        assert {round(after[row] - before[row]) for row in before.keys() & after.keys() if row != "Row 1999"} == {600}


# Tests of the live table and of earlier revisions


def test_crash_of_server(show, server, screenshot):
    """The page continues to follow after a crash of the server."""
    page = show("party")
    server.kill()
    expect(page.locator(".status")).to_have_text("Reconnecting…")
    screenshot(page, "gone")
    server.start()
    server.request("POST", "/v1/sessions/party/edits", {"delete": {"id": "Omar"}})
    expect(page.locator(".status")).to_have_text("Live")
    expect(rows(page)).to_have_text(["Christa's Party", "Jonathan", "Sara", "Omar", "Yvonne", "Kalinda"])
    edit(page)
    page.get_by_label("Delete Sara", exact=True).click()
    page.get_by_label("Confirm: delete Sara").click()
    expect(page.locator(".revision").first).to_have_text("r2")


def test_slider(show, server, screenshot):
    """The slider goes back to revisions before the page was opened."""
    for name in ["Omar", "Sara"]:
        server.request("POST", "/v1/sessions/party/edits", {"delete": {"id": name}})
    page = show("party")
    page.get_by_label("Read earlier revisions from the journal").click()
    slider = page.get_by_label("Revision", exact=True)
    expect(slider).to_have_attribute("max", "2")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(rows(page)).to_have_text(["Christa's Party", "Jonathan", "Sara", "Omar", "Yvonne", "Kalinda"])
    page.keyboard.press("ArrowLeft")
    expect(rows(page)).to_have_text(PARTY)
    expect(page.get_by_label("Delete Omar", exact=True)).to_be_disabled()
    screenshot(page, "past")
    server.request("POST", "/v1/sessions/party/edits", {"delete": {"id": "Jonathan"}})
    expect(page.locator(".moment-label")).to_have_text("r0 of 3")
    expect(rows(page)).to_have_text(PARTY)
    page.get_by_role("button", name="Live").click()
    expect(rows(page)).to_have_text(["Christa's Party", "Jonathan", "Sara", "Omar", "Yvonne", "Kalinda"])
    # The page ends the session with which it made the history, and does not wait for the answer. So the test waits
    # until the session is gone.
    page.wait_for_function("async () => (await (await fetch('/v1/sessions')).json()).sessions.length === 7")


def test_long_history(show, server):
    """A history of many pages is read to its end."""
    for number in range(12):
        status, answer = server.request("PATCH", "/v1/sessions/party/headers", {"attending": f"{number} " + 100_000 * "x"})
        assert status == 200, answer
    server.request("POST", "/v1/sessions/party/edits", {"delete": {"id": "Omar"}})
    page = show("party")
    page.get_by_label("Read earlier revisions from the journal").click()
    slider = page.get_by_label("Revision", exact=True)
    expect(slider).to_have_attribute("max", "13")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(rows(page)).to_have_text(PARTY)
    expect(page.locator(".moment-label")).to_have_text("r12 of 13")


def test_motion(make_page, show, server):
    """Rows glide to their places unless reduced motion is preferred."""
    counting = "() => { window.animations = []; const run = Element.prototype.animate; Element.prototype.animate = function (...values) { animations.push(Object.keys(values[0]).join()); return run.apply(this, values); } }"
    for revision, (motion, name, expected) in enumerate([("no-preference", "Omar", True), ("reduce", "Sara", False)], 1):
        page = show("party", make_page(reduced_motion=motion))
        page.evaluate(counting)
        server.request("POST", "/v1/sessions/party/edits", {"delete": {"id": name}})
        expect(page.locator(".revision").first).to_have_text(f"r{revision}")
        assert ("transform" in page.evaluate("animations")) == expected


# Tests of answers that come late, twice or never


@pytest.fixture
def hold(page, until):
    """Holds requests back. `hold(method, url)` returns a function; each call of this function waits for the next
    request and returns it. The request continues after its `continue_()`.
    """

    def hold(method, url):
        routes = []
        page.route(url, lambda route: routes.append(route) if route.request.method == method else route.fallback())

        def take():
            until(lambda: routes)
            return routes.pop(0)

        return take

    return hold


def lists(server, *sections, **binding):
    """Opens the session "test". Its table has the given sections, with rows of the given titles. All rows can be
    deleted and moved.
    """
    opened(server, {"sections": [id for id, _ in sections], "bindings": [{
        "on": "allOtherSections", "cell": "Cell", "models": {id: [{"id": title, "title": title} for title in titles] for id, titles in sections},
        "editing": "delete", "moving": {"to": "anySection"}, **binding}]})


def test_unanswered_drop(show, server, hold):
    """While the table shows an unanswered drop, commands name the right rows."""
    lists(server, ("all", ["a", "b", "c", "d"]))
    page = show("test")
    edit(page)
    moves = hold("POST", "**/moves*")
    drag(page, "d", middle(page, "a") - 10)
    page.mouse.up()
    expect(rows(page)).to_have_text(["d", "a", "b", "c"])
    move = moves()
    # The next drag, too, must start from the row's place on the server, not from its place in the list.
    drag(page, "c", middle(page, "c") - 5)
    page.mouse.up()
    page.get_by_label("Delete b", exact=True).click()
    with page.expect_request("**/edits*") as request:
        page.get_by_label("Confirm: delete b").click()
        # The client keeps the order of commands: it sends the edit only after the move was answered.
        move.continue_()
    assert request.value.post_data_json == {"delete": {"id": "b"}}
    expect(rows(page)).to_have_text(["d", "a", "c"])


def test_carried_row(show, server):
    """While a row is carried by keyboard, commands name the right rows."""
    lists(server, ("all", ["a", "b", "c", "d"]))
    page = show("test")
    edit(page)
    page.get_by_label("Move a", exact=True).focus()
    for key in ["Space", "ArrowDown", "ArrowDown"]:
        page.keyboard.press(key)
    expect(rows(page)).to_have_text(["b", "c", "a", "d"])
    page.get_by_label("Delete b", exact=True).click()
    page.get_by_label("Confirm: delete b").click()
    expect(rows(page)).to_have_text(["a", "c", "d"])
    assert names(server, "test") == ["a", "c", "d"]


def test_typing_into_removed_row(show, server):
    """Text that is typed into a removed row is not sent to the next one."""
    events = {"typed": {"properties": {"text": {"type": "string"}}}}
    models = [{"id": id, "title": id, "text": ""} for id in "ab"]
    opened(server, {"cells": {"Cell": {"events": events}}, "bindings": [{"cell": "Cell", "models": models}]})
    page = show("test")
    sent = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.locator(".row input").first.press_sequentially("for a")
    server.request("PATCH", "/v1/sessions/test/models", {"table": models[1:]})
    expect(page.locator(".row input")).to_have_count(1)
    page.get_by_role("searchbox").click()
    assert sent == []


RECORDING = """() => {
  const { read } = ReadableStreamDefaultReader.prototype;
  const decoder = new TextDecoder();
  window.streamed = "";
  ReadableStreamDefaultReader.prototype.read = async function () {
    const part = await read.call(this);
    window.streamed += decoder.decode(part.value);
    return part;
  };
}"""


@pytest.fixture
def arrived(page):
    """Waits until the page has received a revision and has had two frames in which to show it."""
    page.add_init_script(f"({RECORDING})()")
    frames = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

    def wait(revision):
        page.wait_for_function("""(revision) => streamed.includes(`"to":${revision},`)""", arg=revision)
        page.evaluate(frames)

    return wait


def test_updates_during_drag(show, server, arrived, screenshot):
    """Updates wait while a row is dragged, and the row is dropped where it is shown."""
    lists(server, ("all", ["a", "b", "c", "d"]))
    page = show("test")
    edit(page)
    drag(page, "a", middle(page, "d"))
    server.request("POST", "/v1/sessions/test/edits", {"delete": {"id": "c"}})
    server.request("PATCH", "/v1/sessions/test/models", {"all": [{"id": id, "title": f"{id}1"} for id in "xabd"]})
    arrived(2)
    expect(rows(page)).to_have_text(["b", "c", "d", "a"])
    screenshot(page, "held")
    page.mouse.up()
    expect(rows(page)).to_have_text(["x1", "b1", "d1", "a1"])
    assert names(server, "test") == ["x", "b", "d", "a"]


def test_updates_during_carrying(show, server, arrived):
    """Updates wait while a row is carried by keyboard until it is put down."""
    lists(server, ("all", ["a", "b", "c"]))
    page = show("test")
    edit(page)
    page.get_by_label("Move a", exact=True).focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    server.request("POST", "/v1/sessions/test/edits", {"delete": {"id": "c"}})
    arrived(1)
    expect(rows(page)).to_have_text(["b", "a", "c"])
    page.keyboard.press("Escape")
    expect(rows(page)).to_have_text(["a", "b"])
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    server.request("POST", "/v1/sessions/test/edits", {"delete": {"id": "b"}})
    arrived(2)
    expect(rows(page)).to_have_text(["b", "a"])
    page.get_by_role("heading", name="test").click()
    expect(rows(page)).to_have_text(["a"])


def test_drag_of_ended_session(show, server):
    """A drag is over when the session ends."""
    lists(server, ("all", ["a", "b", "c"]))
    page = show("test")
    edit(page)
    drag(page, "a", middle(page, "c"))
    expect(rows(page)).to_have_text(["b", "c", "a"])
    server.request("DELETE", "/v1/sessions/test")
    expect(page.locator(".status")).to_have_text("Ended")
    expect(rows(page)).to_have_text(["a", "b", "c"])
    page.mouse.up()
    expect(page.locator("[data-carried]")).to_have_count(0)


def test_drag_and_description(show, server, hold):
    """A drag continues when the description arrives."""
    lists(server, ("all", ["a", "b", "c"]))
    table = hold("GET", "**/sessions/test/table")
    page = show("test")
    edit(page)
    description = table()
    drag(page, "a", middle(page, "b") + 10)
    expect(rows(page)).to_have_text(["b", "a", "c"])
    with page.expect_response("**/sessions/test/table"):
        description.continue_()
    # The time in which the page could put the row back.
    page.wait_for_timeout(200)
    expect(rows(page)).to_have_text(["b", "a", "c"])
    page.mouse.up()
    expect(page.locator(".revision").first).to_have_text("r1")
    assert names(server, "test") == ["b", "a", "c"]


def test_fading_row(make_page, show, server):
    """Keys and pointers on a row that fades away do nothing."""
    lists(server, ("all", ["a", "b", "c"]))
    page = show("test", make_page(reduced_motion="no-preference"))
    edit(page)
    row = page.locator(".item.row", has=page.get_by_text("b", exact=True))
    row.evaluate("""(row) => {
      const press = () => {
        if (!row.matches(".leaving")) return;
        row.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
        row.querySelector(".handle").dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }));
        row.querySelector(".handle").dispatchEvent(new PointerEvent("pointerdown", { button: 0, bubbles: true }));
        row.querySelector(".delete").click();
      };
      new MutationObserver(press).observe(row, { attributes: true });
    }""")
    server.request("POST", "/v1/sessions/test/edits", {"delete": {"id": "b"}})
    expect(row).to_have_count(0)
    assert names(server, "test") == ["a", "c"]


def test_drag_down(show, server):
    """A row is dragged down to where it is dropped."""
    lists(server, ("all", ["a", "b", "c", "d"]))
    page = show("test")
    edit(page)
    drag(page, "a", middle(page, "c"))
    page.mouse.up()
    expect(page.locator(".revision").first).to_have_text("r1")
    expect(rows(page)).to_have_text(["b", "c", "a", "d"])
    assert names(server, "test") == ["b", "c", "a", "d"]


def test_command_for_removed_row(show, server):
    """A command for a removed row is not sent for another row."""
    lists(server, ("all", ["a", "b"]))
    page = show("test")
    rows(page).last.click()
    panel(page, "Row")
    page.get_by_role("button", name="Send Delete").hover()
    page.mouse.down()
    server.request("POST", "/v1/sessions/test/edits", {"delete": {"id": "b"}})
    expect(rows(page)).to_have_text(["a"])
    page.mouse.up()
    expect(page.get_by_role("alert")).to_contain_text("The row is gone")
    assert names(server, "test") == ["a"]


def test_drop_without_effect(show, server, page):
    """A drop that comes to nothing is not shown as done."""
    lists(server, ("all", ["a", "b"]))
    page = show("test")
    unchanged = {"revision": 0, "outcome": "unchanged", "update": {"from": 0, "to": 0, "stages": [], "totalRowCount": 2}}
    page.route("**/moves*", lambda route: route.fulfill(json=unchanged))
    edit(page)
    drag(page, "a", middle(page, "b") + 10)
    page.mouse.up()
    expect(rows(page)).to_have_text(["a", "b"])


def test_model_after_removal(show, server, hold):
    """The page asks for a model even if the row was removed meanwhile."""
    models = [{"id": id, "title": id} for id in "ab"]
    opened(server, {"bindings": [{"cell": "Cell", "models": models, "editing": "insert"}]})
    page = show("test")
    edit(page)
    edits = hold("POST", "**/edits*")
    page.get_by_label("Insert at b").click()
    insert = edits()
    server.request("PATCH", "/v1/sessions/test/models", {"table": models[:1]})
    expect(rows(page)).to_have_text(["a"])
    insert.fulfill(status=422, json={"type": "/problems/model-required", "title": "A model is required"})
    expect(page.get_by_role("dialog").get_by_label("JSON")).to_have_value(re.compile('"title": "b"'))


def test_typing_into_changed_row(show, server):
    """Text that is typed for a row stays when the row changes."""
    models = [{"id": id, "title": id} for id in "ab"]
    opened(server, {"bindings": [{"cell": "Cell", "models": models}]})
    page = show("test")
    rows(page).first.click()
    panel(page, "Row")
    field = page.get_by_role("textbox", name="Model")
    field.fill('{"id": "a", "title": "half')
    server.request("PATCH", "/v1/sessions/test/models", {"table": [{"id": "a", "title": "changed"}, models[1]]})
    expect(page.locator("#panel h2")).to_have_text("changed")
    expect(field).to_have_value('{"id": "a", "title": "half')
    expect(field).to_be_focused()
    page.keyboard.type('-way"}')
    page.get_by_role("button", name="Send Update model").click()
    expect(rows(page)).to_have_text(["half-way", "b"])
    rows(page).last.click()
    expect(field).to_have_value(re.compile('"title": "b"'))


def test_late_description(show, server, hold):
    """What a description allows is offered as soon as it is known."""
    table = hold("GET", "**/sessions/event/table")
    page = show("event")
    page.locator(".row", has_text="All-day").click()
    panel(page, "Row")
    expect(page.locator("#panel h2")).to_have_text("All-day")
    table().continue_()
    expect(page.get_by_role("button", name="Send switchToggled")).to_be_visible()


def test_description_read_later(page, server):
    """A description that could not be read at first is read when the session is followed again."""
    tries = []
    page.route("**/updates?presence=*", lambda route: tries.append(route) or (route.abort() if len(tries) == 1 else route.fallback()))
    page.route("**/sessions/event/table", lambda route: route.fallback() if len(tries) > 1 else route.fulfill(status=500))
    page.goto(f"{server.url}/#/sessions/event")
    expect(page.locator(".status")).to_have_text("Live")
    page.locator(".row", has_text="All-day").click()
    panel(page, "Row")
    expect(page.get_by_role("button", name="Send switchToggled")).to_be_visible()


def test_emptied_console(show, server):
    """An emptied body of the console stays empty."""
    page = show("party")
    panel(page, "Session")
    body = page.get_by_label("Body")
    expect(body).not_to_have_value("")
    body.fill("")
    server.request("PATCH", "/v1/sessions/party/state", {"mood": "good"})
    expect(page.get_by_role("region", name="State")).to_contain_text("good")
    expect(body).to_have_value("")


def test_late_dry_run(show, server, hold):
    """A dry run's late answer is not shown as that of the next command."""
    page = show("party")
    panel(page, "Session")
    page.get_by_label("Command", exact=True).select_option("patchState")
    page.get_by_label("Body").fill('{"mood": "good"}')
    dry = hold("PATCH", "**/state?dryRun=true")
    page.get_by_role("button", name="Dry run").click()
    route = dry()
    page.get_by_role("button", name="Send", exact=True).click()
    panel(page, "Requests")
    # The client keeps the order of commands: it sends the other command only after the dry run was answered.
    route.continue_()
    expect(page.locator(".requests li")).to_have_count(2)
    panel(page, "Session")
    expect(page.get_by_role("heading", name="Answer", exact=True)).to_be_visible()


@pytest.mark.parametrize("command, body", [("taps", "null"), ("update row", "{}"), ("remove row", "null")])
def test_wrong_body(show, server, command, body):
    """The console says that a body does not fit the command."""
    page = show("party")
    panel(page, "Session")
    page.get_by_label("Command", exact=True).select_option(command)
    page.get_by_label("Body").fill(body)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator(".console").get_by_role("alert")).not_to_be_empty()


@pytest.mark.parametrize("status", [502, 200])
def test_page_for_journal(show, server, status):
    """An HTML page in place of the journal is shown as a failure."""
    server.request("POST", "/v1/sessions/party/edits", {"delete": {"id": "Omar"}})
    page = show("party")
    page.route("**/journal", lambda route: route.fulfill(status=status, body="<html>Log in", content_type="text/html"))
    page.get_by_label("Read earlier revisions from the journal").click()
    expect(page.get_by_role("alert")).to_be_visible()


@pytest.mark.parametrize("look", [
    {"date": "in spring", "mode": "date"}, {"date": "2026-01-01 10:00", "mode": "dateTime"}, {"placeholder": "Name", "text": "two\nlines"}], ids=json.dumps)
def test_unfit_value(show, server, look):
    """A value that its field cannot hold is not sent by looking at it."""
    events = {"entered": {"properties": {"date": {"type": "string"}}}}
    opened(server, {"cells": {"DateCell": {"events": events}}, "bindings": [{"cell": "DateCell", "viewModels": [{"id": "a", **look}]}]})
    page = show("test")
    sent = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.locator(".row input").click()
    page.get_by_role("searchbox").click()
    assert sent == []


def test_late_check(page, server, hold):
    """A late answer to a check says nothing about the text that was typed since."""
    # The script keeps the page from checking the description again before the late answer to the previous check
    # arrives.
    page.add_init_script("const set = setTimeout; window.setTimeout = (action, time, ...values) => window.isBusy && time === 250 ? 0 : set(action, time, ...values)")
    checks = hold("POST", "**/v1/tables/validate")
    page.goto(f"{server.url}/#/tables/attendees")
    check = checks()
    page.evaluate("isBusy = true")
    page.locator("textarea.source").press_sequentially("x")
    with page.expect_response("**/v1/tables/validate"):
        check.continue_()
    page.evaluate("fetch('/healthz').then((answer) => answer.text())")
    expect(page.locator(".editor .status")).to_have_text("Checking…")
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()


def test_late_preview(page, server, hold):
    """A preview that fails late does not hide the one after it."""
    opens = hold("POST", "**/v1/sessions")
    page.goto(f"{server.url}/#/tables/attendees")
    first = opens()
    source = page.locator("textarea.source")
    source.fill(source.input_value().replace("We start at 7.", "We start at 8."))
    opens().continue_()
    expect(page.locator(".preview .subtitle", has_text="We start at 8.")).to_be_visible()
    with page.expect_response("**/v1/sessions"):
        first.fulfill(status=429, headers={"Retry-After": "60"}, json={"detail": "Too many"})
    page.evaluate("new Promise(requestAnimationFrame)")
    expect(page.locator(".preview .subtitle", has_text="We start at 8.")).to_be_visible()


def test_late_editor_text(page, server, hold):
    """Nothing can be typed where a late description would replace it."""
    description = hold("GET", "**/v1/tables/attendees")
    page.goto(f"{server.url}/#/tables/attendees")
    answer = description()
    source = page.locator("textarea.source")
    source.focus()
    page.keyboard.type("x")
    expect(source).to_have_value("")
    answer.continue_()
    expect(source).not_to_have_value("")
    page.keyboard.type("x")
    expect(source).to_have_value(re.compile("x"))


def test_draft_stays(page, make_server):
    """A draft stays when the token changes, and when the page was in the background."""
    server = make_server(token="secret")
    page.goto(f"{server.url}/#/tables/attendees")
    for text in ["We start at 8.", "We start at 9."]:
        page.get_by_role("dialog").get_by_label("Token").fill("secret")
        page.get_by_role("button", name="Use it").click()
        expect(page.locator(".editor .status")).to_have_text("Valid")
        source = page.locator("textarea.source")
        source.fill(re.sub(r"We start at \d\.", text, source.input_value()))
        expect(page.locator(".preview .subtitle", has_text=text)).to_be_visible()
        page.get_by_role("button", name="Token").click()
    page.keyboard.press("Escape")
    page.evaluate("for (const type of ['pagehide', 'pageshow']) dispatchEvent(new PageTransitionEvent(type, { persisted: true }))")
    expect(source).to_have_value(re.compile("We start at 9."))
    source.fill(source.input_value().replace("at 9.", "at 10."))
    expect(page.locator(".preview .subtitle", has_text="We start at 10.")).to_be_visible()


def test_background_page(show, server):
    """A page that was in the background follows its session again."""
    page = show("party")
    page.evaluate("for (const type of ['pagehide', 'pageshow']) dispatchEvent(new PageTransitionEvent(type, { persisted: true }))")
    server.request("POST", "/v1/sessions/party/edits", {"delete": {"id": "Omar"}})
    expect(rows(page)).to_have_text(["Christa's Party", "Jonathan", "Sara", "Omar", "Yvonne", "Kalinda"])


def test_late_save(page, make_server, hold):
    """A late answer to a save does not bring a person back to the editor."""
    server = make_server()
    page.goto(f"{server.url}/#/tables/attendees")
    expect(page.locator(".preview .row .title")).to_have_text(PARTY)
    saves = hold("PUT", "**/v1/tables/attendees")
    page.get_by_role("button", name="Save", exact=True).click()
    save = saves()
    page.get_by_role("link", name="contacts").click()
    expect(page.get_by_role("heading", name="contacts")).to_be_visible()
    save.continue_()
    expect(page.get_by_role("status").filter(has_text="Saved")).to_be_visible()
    expect(page).to_have_url(re.compile("/sessions/contacts$"))


def test_other_session_stays(show, server, hold):
    """A person who has gone to another session stays there when the first one ends."""
    page = show("party")
    ends = hold("DELETE", "**/v1/sessions/party")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("button", name="End the session").click()
    page.get_by_role("button", name="End it").click()
    end = ends()
    page.get_by_role("link", name="contacts").click()
    expect(page.get_by_role("heading", name="contacts")).to_be_visible()
    end.continue_()
    expect(page.get_by_role("link", name="party")).to_have_count(0)
    expect(page).to_have_url(re.compile("/sessions/contacts$"))


def test_lost_answer_of_end(show, server, page):
    """A session that ended is ended though the answer was lost."""
    page = show("party")
    tries = []

    def lose(route):
        tries.append(route.request.method)
        if len(tries) > 1:
            return route.continue_()
        route.fetch()
        route.abort()

    page.route("**/v1/sessions/party", lose)
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("button", name="End the session").click()
    page.get_by_role("button", name="End it").click()
    expect(page.get_by_role("heading", name="Braid Server")).to_be_visible()
    assert tries == ["DELETE", "DELETE"]
    expect(page.get_by_role("alert")).to_have_count(0)


def test_same_id_again(show, server):
    """A new session with the id of an ended one is shown."""
    page = show("party")
    server.request("DELETE", "/v1/sessions/party")
    expect(page.locator(".status")).to_have_text("Ended")
    page.get_by_role("button", name="Open a session").click()
    page.get_by_role("dialog").get_by_label("Table").select_option("news")
    page.get_by_role("dialog").get_by_label("Id").fill("party")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.locator(".status")).to_have_text("Live")
    expect(rows(page)).to_have_count(4)


def test_wrong_address(page, server):
    """An invalid address is a session that does not exist."""
    page.goto(f"{server.url}/#/sessions/100%")
    expect(page.locator(".empty-table p", has_text="does not exist")).to_be_visible()
    page.get_by_role("link", name="party").click()
    expect(rows(page)).to_have_text(PARTY)


def test_focus_after_dialog(show, server):
    """The focus is where it was once a dialog has closed."""
    page = show("party")
    for name, close in [("Token", "Escape"), ("Token", "Enter"), ("Open a session", "Escape")]:
        page.get_by_role("button", name=name, exact=True).focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        if close == "Enter":
            page.get_by_role("button", name="Cancel").focus()
        page.keyboard.press(close)
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("button", name=name, exact=True)).to_be_focused()


def test_focus_in_sidebar(page, server):
    """The focus stays in the sidebar when its lists are read again."""
    for number in range(120):
        server.request("POST", "/v1/sessions", {"rows": [], "id": f"many-{number:03}"})
    page.goto(server.url)
    sessions = page.get_by_role("region", name="Sessions")
    page.get_by_role("button", name="Open a session").focus()
    server.request("POST", "/v1/sessions", {"rows": [], "id": "another"})
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(sessions.get_by_role("link", name="another")).to_be_visible()
    expect(page.get_by_role("button", name="Open a session")).to_be_focused()
    page.get_by_role("button", name="More sessions").focus()
    page.keyboard.press("Enter")
    expect(sessions.get_by_role("link")).to_have_count(128)
    expect(page.locator(":focus")).to_have_count(1)


def test_pressed_revision(show, server, hold):
    """The revision that is pressed is shown, even if earlier ones arrive meanwhile."""
    for name in ["Omar", "Sara"]:
        server.request("POST", "/v1/sessions/party/edits", {"delete": {"id": name}})
    page = show("party")
    server.request("POST", "/v1/sessions/party/edits", {"delete": {"id": "Jonathan"}})
    expect(page.locator(".moment .revision")).to_have_text(["r3", "r2"])
    journal = hold("GET", "**/journal?after=0*")
    page.get_by_label("Read earlier revisions from the journal").click()
    read = journal()
    page.locator(".moment").last.hover()
    page.mouse.down()
    read.continue_()
    expect(page.get_by_label("Revision", exact=True)).to_have_attribute("max", "3")
    page.mouse.up()
    expect(page.locator(".moment-label")).to_have_text("r2 of 3")


def test_history_that_is_being_read_is_not_read_twice(show, server, hold):
    server.request("POST", "/v1/sessions/party/edits", {"delete": {"id": "Omar"}})
    page = show("party")
    journal = hold("GET", "**/journal?after=0*")
    reads = []
    page.on("request", lambda request: reads.append(request.url) if request.url.endswith("/journal") else None)
    page.get_by_label("Read earlier revisions from the journal").dblclick()
    journal().continue_()
    expect(page.get_by_label("Revision", exact=True)).to_have_attribute("max", "1")
    assert len(reads) == 1


def test_typing_during_refusal(show, server, hold):
    """Text that is typed while an entry is refused is not sent half typed."""
    page = show("event")
    events = hold("POST", "**/events*")
    field = page.get_by_label("Event name")
    field.fill("Picnic")
    page.keyboard.press("Enter")
    entry = events()
    page.keyboard.type(" in the")
    entry.fulfill(status=409, json={"title": "Rejected", "detail": "Not now"})
    expect(page.get_by_role("alert")).to_contain_text("Not now")
    page.keyboard.type(" park")
    page.keyboard.press("Enter")
    assert events().request.post_data_json["event"]["textEntered"]["text"] == "Picnic in the park"


def test_unique_keys(page, server):
    """The keys of rows and sections are unique, whatever their ids."""
    page.goto(server.url)
    ids = ["", "a", "a\nb", "a b", "%", "/", "__proto__"]
    snapshot = {"revision": 0, "sections": [{"id": id, "header": None, "footer": None, "rows": [{"id": id} for id in ["", "b", "b\nb", "\nb"]]} for id in ids]}
    keys = page.evaluate(
        """async (snapshot) => {
            const { frame } = await import("/inspector/frames.js");
            const keys = (frame) => frame.keys.sections.flatMap(({ id, rows }) => [id, ...rows.map(({ id }) => id)]);
            const first = frame(snapshot);
            return [keys(first), keys(frame(snapshot, first))];
        }""",
        snapshot,
    )
    assert keys[0] == keys[1] and len(set(keys[0])) == len(ids) * 5


ODD = [" ", "/", "...", "%", "%2F", "x" * 390, "🎉🇩🇪", "\u202eabc\u05d0", "<b>&amp;</b>", "a\nb", "__proto__", "toString", "\"]'"]


def send_delete(page):
    """Presses the button up to three times, until a request is sent. If the panel is drawn again between press and
    release, the click is lost.
    """
    for _ in range(3):
        try:
            with page.expect_request(lambda request: request.method == "POST" and "/edits" in request.url, timeout=20_000):
                page.get_by_role("button", name="Send Delete").click()
            return
        except PlaywrightTimeout:
            continue


def test_odd_ids(show, server):
    """Odd ids of sections and rows are shown as they are."""
    opened(server, {"sections": ODD, "sectionDisplay": {"behavior": "manuallyManaged", "displayed": ODD[:-1]}, "bindings": [{
        "on": "allOtherSections", "cell": "Cell", "editing": "delete", "moving": {"to": "anySection"},
        "models": {id: [{"id": f"{id} {row}", "title": id} for row in ("a", "b")] + [{"id": 7, "title": None}] for id in ODD}, "headers": {id: id for id in ODD}}]})
    page = show("test")
    expect(page.locator(".item.row")).to_have_count(3 * (len(ODD) - 1))
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_label("Show hidden sections").check()
    page.keyboard.press("Escape")
    expect(page.locator(".item.hidden span").first).to_have_text(f"{ODD[-1]} · hidden")
    page.locator(".item.hidden").get_by_role("button", name="Display").click()
    expect(page.locator(".item.row")).to_have_count(3 * len(ODD))
    edit(page)
    for number in (0, 4, 31):
        page.locator(".item.row").nth(number).click()
        for name in ["Row", "Session", "Requests", "Updates"]:
            panel(page, name)
        panel(page, "Row")
        send_delete(page)
        expect(page.locator(".item.row")).to_have_count(3 * len(ODD) - (0, 4, 31).index(number) - 1)
    panel(page, "Updates")
    expect(page.locator("svg.stage")).to_have_count(1)
    assert page.locator(".item b, #panel b").count() == 0
    server.request("PUT", "/v1/sessions/test/displayed-sections", [])
    expect(page.locator(".empty-table")).to_be_visible()
    expect(page.locator(".item.hidden")).to_have_count(len(ODD))
    for name in ["Row", "Session", "Requests", "Updates"]:
        panel(page, name)
    panel(page, "Session")
    expect(page.get_by_role("heading", name="Send a command")).to_be_visible()
    for option in page.get_by_label("Command", exact=True).locator("option").all():
        page.get_by_label("Command", exact=True).select_option(option.get_attribute("value"))


def test_page_of_sessions_stays(page, server, hold):
    """A page of sessions that arrives while the lists are read again stays."""
    for number in range(120):
        server.request("POST", "/v1/sessions", {"rows": [], "id": f"many-{number:03}"})
    page.goto(server.url)
    sessions = page.get_by_role("region", name="Sessions").get_by_role("link")
    expect(sessions).to_have_count(100)
    pages = hold("GET", "**/v1/sessions?*")
    page.evaluate("dispatchEvent(new Event('focus'))")
    anew = pages()
    page.get_by_role("button", name="More sessions").click()
    pages().continue_()
    expect(sessions).to_have_count(127)
    anew.continue_()
    pages().continue_()
    page.evaluate("fetch('/healthz').then((answer) => answer.text())")
    expect(sessions).to_have_count(127)


def test_composition(show, server, page):
    """Enter at the end of a composition is no line break, and sends nothing."""
    sent = []
    page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/events") else None)
    enter = "element => element.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true }))"
    page = show("event")
    page.get_by_label("Event name").fill("half")
    page.get_by_label("Event name").evaluate(enter)
    assert sent == []
    page.goto(f"{server.url}/#/tables/attendees")
    source = page.locator("textarea.source")
    expect(source).not_to_have_value("")
    before = source.input_value()
    assert source.evaluate(enter), "it is the composition's"
    assert source.input_value() == before


def test_unreadable(page, server):
    """Content that could not be read is not said to be missing."""
    page.route("**/v1/sessions?*", lambda route: route.abort())
    page.goto(server.url)
    expect(page.get_by_role("alert").filter(has_text="does not answer")).to_be_visible()
    lists = page.get_by_role("region", name="Sessions")
    expect(lists).not_to_contain_text("No session")
    page.unroute("**/v1/sessions?*")
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(lists.get_by_role("link")).to_have_count(7)


# Tests of the editor of descriptions


def test_editor_faults(page, make_server, screenshot):
    """The editor marks faults at their places, and previews valid descriptions."""
    server = make_server()
    page.goto(f"{server.url}/#/tables/attendees")
    source = page.get_by_label("Table description", exact=True).and_(page.locator("textarea"))
    expect(page.locator(".preview .row .title")).to_have_text(PARTY)
    text = source.input_value()
    source.fill(text.replace('"editing": "delete"', '"edting": "delete"'))
    faults = page.locator(".faults li")
    expect(faults).to_have_text(re.compile(r"line \d+/bindings/2/edting.*did you mean `editing`\?"))
    expect(page.locator(".mirror mark")).to_have_text('"edting": "delete"')
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    screenshot(page, "fault")
    faults.get_by_role("button").click()
    assert source.evaluate("area => area.value.slice(area.selectionStart, area.selectionEnd)") == '"edting": "delete"'
    source.fill(text.replace('"cells"', '"cells'))
    expect(faults).to_have_text(re.compile(r"line \d+"))
    source.fill(text.replace("We start at 7.", "We start at 8."))
    expect(page.locator(".preview .subtitle", has_text="We start at 8.")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="Saved")).to_be_visible()
    assert "We start at 8." in json.dumps(server.request("GET", "/v1/tables/attendees")[1])
    page.get_by_role("link", name="Braid Server").click()
    expect(page.get_by_role("region", name="Sessions").get_by_role("link")).to_have_count(7)
    page.wait_for_function("async () => (await (await fetch('/v1/sessions')).json()).sessions.length === 7")


def test_json_fault(page, server, screenshot):
    """A fault in JSON is marked at its own line."""
    page.goto(f"{server.url}/#/tables/attendees")
    source = page.locator("textarea.source")
    expect(page.locator(".editor .status")).to_have_text("Valid")
    for text, line, detail, mark in [
        ('{\n  "table": "x",\n  "bindings": [ { "cell": } ]\n}\n', 3, "A value is missing before }.", "}"),
        ('{\n  "table": "x",\n}\n\n', 2, "A comma stands before }.", ","),
    ]:
        source.fill(text)
        expect(page.locator(".faults li")).to_have_text(f"line {line}{detail}")
        expect(page.locator(".gutter .faulty")).to_have_text(str(line))
        expect(page.locator(".mirror mark")).to_have_text(mark)
        screenshot(page, f"line-{line}")


def test_json_fault_in_forms(show, server):
    """The forms of a session name the line of a fault in JSON and select it."""
    models = [{"id": "a", "title": "a"}]
    opened(server, {"bindings": [{"cell": "Cell", "models": models, "editing": "insert"}]})
    page = show("test")
    text, message = '{\n  "id": "b",\n  "title" "b"\n}', 'Line 3: A colon is missing before "b".'

    def fill(name, within=page):
        field = within.get_by_role("textbox", name=name)
        field.fill(text)
        return field

    def check(field, place):
        expect(place).to_contain_text(message)
        expect(field).to_be_focused()
        assert field.evaluate("area => [area.selectionStart, area.selectionEnd]") == [text.index('"b"', 20), text.index('"b"', 20) + 3]

    rows(page).first.click()
    panel(page, "Row")
    field = fill("Model", page.locator("form", has=page.get_by_text("Update model")))
    page.get_by_role("button", name="Send Update model").click()
    check(field, page.get_by_role("alert").filter(has_text="Not JSON"))
    panel(page, "Session")
    field = fill("Body")
    page.get_by_role("button", name="Dry run").click()
    check(field, page.locator(".console .fault"))
    edit(page)
    page.get_by_label("Insert at a").click()
    dialog = page.get_by_role("dialog")
    field = fill("JSON", dialog)
    dialog.get_by_role("button", name="Send").click()
    check(field, dialog.get_by_role("alert"))


def previews(server):
    return [session["id"] for session in server.request("GET", "/v1/sessions")[1]["sessions"] if session["id"].startswith("preview-")]


def test_preview_of_dead_browser(page, make_server, until):
    """The preview of a browser that died is ended by the server."""
    server = make_server("--test-mode")
    page.goto(f"{server.url}/#/new-table")
    expect(page.locator(".preview .row .title")).to_have_count(3)
    expect(page.locator(".preview .status")).to_have_text("Live")
    server.request("PUT", "/v1/test/clock", {"advance": 100_000})
    preview = previews(server)
    assert len(preview) == 1, "a preview that somebody looks at stays"
    # A browser that dies sends no DELETE.
    page.evaluate("() => { const send = fetch; window.fetch = (url, options) => options?.method === 'DELETE' ? Promise.reject() : send(url, options); }")
    page.goto("about:blank")
    until(lambda: 'braid_subscribers{by="stream"} 0' in urllib.request.urlopen(f"{server.url}/metrics").read().decode())
    assert previews(server) == preview
    server.request("PUT", "/v1/test/clock", {"advance": 20 * 60})
    assert previews(server) == []


def test_ended_preview(page, server):
    """A preview that the server ended is opened again."""
    page.goto(f"{server.url}/#/new-table")
    status = page.locator(".preview .status")
    expect(status).to_have_text("Live")
    [preview] = previews(server)
    server.request("DELETE", f"/v1/sessions/{preview}")
    expect(page.get_by_label(f"Session {preview}")).to_have_count(0)
    expect(status).to_have_text("Live")
    expect(page.locator(".preview .row .title")).to_have_count(3)
    assert len(previews(server)) == 1 and previews(server) != [preview]


def test_a_description_is_saved_and_applied_to_its_sessions(page, make_server):
    server = make_server()
    description = {"table": "sheet", "sections": ["a", "b"], "cells": {"C": {}},
                   "bindings": [{"on": "allOtherSections", "cell": "C", "models": {"a": [{"id": "x"}], "b": []}, "viewModel": {"title": "old ${model.id}"}}]}
    server.request("PUT", "/v1/tables/sheet", description)
    for session in ["one", "two"]:
        assert server.request("POST", "/v1/sessions", {"id": session, "table": "sheet"})[0] == 201
    assert server.request("PATCH", "/v1/sessions/two/models", {"b": [{"id": "y"}]})[0] == 200
    page.goto(f"{server.url}/#/tables/sheet")
    source = page.get_by_label("Table description", exact=True).and_(page.locator("textarea"))
    expect(page.locator(".editor .status")).to_have_text("Valid")
    source.fill(json.dumps(description).replace("old", "new").replace(', "b": []', "").replace(', "b"]', "]"))
    page.get_by_role("button", name="Save and apply").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("two: /b the table has no such section any more, and the section has a model")
    assert server.request("GET", "/v1/sessions/one")[1]["tableVersion"] == 2
    assert server.request("GET", "/v1/sessions/two")[1]["tableVersion"] == 1
    dialog.get_by_role("button", name="Lose it").click()
    page.wait_for_function("async () => (await (await fetch('/v1/sessions/two')).json()).tableVersion === 2")
    for session in ["one", "two"]:
        assert [row["viewModel"] for section in server.snapshot(session)["sections"] for row in section["rows"]] == [{"title": "new x"}]


def test_watched_file(page, make_server, tmp_path):
    """A saved file is shown at once, and its faults until it is corrected or deleted."""
    fixtures = tmp_path / "fixtures"
    fixtures.mkdir()
    file = fixtures / "sheet.table.json"
    text = """{ "table": "sheet", "cells": { "C": {} },
  "bindings": [ { "cell": "C", "models": [ { "id": "x" } ], "viewModel": { "title": "old ${model.id}" } } ] }"""
    file.write_text(text)
    (fixtures / "sheet.session.json").write_text('{"id": "sheet", "table": "sheet"}')
    server = make_server("--fixtures", fixtures, "--watch")
    page.goto(f"{server.url}/#/sessions/sheet")
    row = page.locator(".row .title")
    expect(row).to_have_text("old x")
    expect(page.locator(".status")).to_have_text("Live")
    file.write_text(text.replace("old", "new"))
    expect(row).to_have_text("new x")
    file.write_text(text.replace('"cell": "C"', '"cell": "D"'))
    fault = page.get_by_role("alert").filter(has_text="sheet.table.json is faulty")
    expect(fault).to_contain_text("sheet.table.json:2:")
    expect(fault).to_contain_text('the cell "D" is not declared')
    expect(row).to_have_text("new x")
    file.write_text(text.replace("old", "newer"))
    expect(fault).to_have_count(0)
    expect(row).to_have_text("newer x")
    file.write_text("{")
    expect(fault).to_have_count(1)
    file.unlink()
    expect(fault).to_have_count(0)
    expect(row).to_have_text("newer x")


def test_a_new_description_is_written_and_saved(page, make_server):
    server = make_server()
    page.goto(server.url)
    page.get_by_role("main").get_by_role("button", name="New description").click()
    expect(page.locator(".preview .row .title")).to_have_text(["Buy milk", "Bake bread", "Water the plants"])
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("region", name="Table descriptions").get_by_role("link", name="untitled")).to_be_visible()
    assert server.request("GET", "/v1/tables/untitled")[0] == 200


def test_unsaved_text(page, server):
    """The page asks before it leaves unsaved text."""
    page.goto(f"{server.url}/#/tables/attendees")
    source = page.locator("textarea.source")
    expect(page.locator(".editor .status")).to_have_text("Valid")
    source.press_sequentially(" ")
    written = source.input_value()
    page.get_by_role("link", name="contacts").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page).to_have_url(re.compile("#/tables/attendees$"))
    expect(source).to_have_value(written)
    with page.expect_event("dialog") as asked:
        page.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
    asked.value.dismiss()
    page.get_by_role("link", name="contacts").click()
    page.get_by_role("button", name="Leave it").click()
    expect(page.get_by_role("heading", name="contacts")).to_be_visible()
    expect(page).to_have_url(re.compile("#/sessions/contacts$"))


def test_deleted_description(page, make_server):
    """What is deleted in the editor is what was saved last."""
    server = make_server()
    page.goto(f"{server.url}/#/new-table")
    source, deletion = page.locator("textarea.source"), page.get_by_role("button", name="Delete", exact=True)
    expect(page.locator(".editor .status")).to_have_text("Valid")
    expect(deletion).to_be_hidden()
    descriptions = page.get_by_role("region", name="Table descriptions")
    for name in ["one", "two"]:
        source.fill(re.sub('"table": "[a-z]*"', f'"table": "{name}"', source.input_value()))
        expect(page.locator(".editor .status")).to_have_text("Valid")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(descriptions.get_by_role("link", name=name)).to_be_visible()
    deletion.click()
    expect(page.get_by_role("dialog")).to_contain_text('"two"')
    page.get_by_role("button", name="Delete it").click()
    expect(descriptions.get_by_role("link", name="two")).to_be_hidden()
    assert [server.request("GET", f"/v1/tables/{name}")[0] for name in ["one", "two"]] == [200, 404]


def test_warnings(page, server):
    """Warnings are marked, and the description can be saved."""
    page.goto(f"{server.url}/#/new-table")
    source = page.locator("textarea.source")
    expect(page.locator(".editor .status")).to_have_text("Valid")
    source.fill(source.input_value().replace("${model.title}", "${Model.title}"))
    expect(page.locator(".editor .status")).to_have_text("Valid, 2 warnings")
    expect(page.locator(".editor .mirror mark.warning")).to_have_count(2)
    expect(page.locator(".faults li.warning")).to_contain_text(["did you mean `model`?", "no session can be opened"])
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("region", name="Table descriptions").get_by_role("link", name="untitled")).to_be_visible()


def test_the_editor_checks_again_until_the_server_answers(page, server):
    page.route("**/v1/tables/validate", lambda route: route.abort())
    page.goto(f"{server.url}/#/tables/attendees")
    expect(page.locator(".editor .status")).to_have_text("The server does not answer")
    page.unroute("**/v1/tables/validate")
    expect(page.locator(".editor .status")).to_have_text("Valid")
    expect(page.locator(".preview .row .title")).to_have_text(PARTY)


# Tests while the server does not answer, and while the page is hidden


@pytest.fixture
def away(page):
    """Makes all requests fail that change something, or lets them pass again: `away(True)`, `away(False)`."""
    state = {"away": False}

    def fate(route):
        if state["away"] and route.request.method != "GET":
            return route.abort()
        return route.fallback()

    page.route("**/v1/**", fate)
    return lambda is_away: state.update(away=is_away)


def retry(page):
    return page.get_by_role("alert").filter(has_text="The server does not answer").get_by_role("button", name="Retry")


def test_retry_of_text(show, server, page, away):
    """Text that is typed while the server is unreachable stays, and Retry sends it."""
    show("event")
    away(True)
    field = page.get_by_label("Event name")
    field.fill("Picnic")
    page.keyboard.press("Enter")
    expect(retry(page)).to_be_visible()
    expect(field).to_have_class(re.compile("unsent"))
    # The field keeps its input even if its row is drawn again.
    page.get_by_label("Location").focus()
    server.request("PATCH", "/v1/sessions/event/state", {"notes": "changed"})
    expect(page.locator(".screen .subtitle").first).to_contain_text("revision 1 ")
    expect(field).to_have_value("Picnic")
    expect(field).to_have_class(re.compile("unsent"))
    retry(page).click()
    # After a second failure, the page offers the retry again.
    expect(retry(page)).to_have_count(1)
    away(False)
    retry(page).click()
    expect(field).not_to_have_class(re.compile("unsent"))
    expect(field).to_have_value("Picnic")
    assert server.snapshot("event")["state"]["title"] == "Picnic"
    expect(retry(page)).to_have_count(0)


def test_unsent_entry(show, server, page, away):
    """An entry that was not sent is sent by Enter and dropped by Escape."""
    show("event")
    field = page.get_by_label("Event name")
    away(True)
    field.fill("Picnic")
    page.keyboard.press("Enter")
    expect(retry(page)).to_be_visible()
    page.get_by_role("button", name="Dismiss").click()
    expect(field).to_have_value("Picnic")
    field.focus()
    page.keyboard.press("Escape")
    expect(field).to_have_value("")
    expect(field).not_to_have_class(re.compile("unsent"))
    field.fill("Concert")
    page.keyboard.press("Enter")
    expect(retry(page)).to_be_visible()
    away(False)
    page.keyboard.press("Enter")
    expect(page.locator(".revision").first).to_have_text("r1")
    expect(retry(page)).to_have_count(0)
    assert server.snapshot("event")["state"]["title"] == "Concert"
    assert server.snapshot("event")["revision"] == 1


def test_retry_of_drop(show, server, page, away):
    """A drop without an answer is undone, and Retry repeats it."""
    lists(server, ("all", ["a", "b"]))
    show("test")
    edit(page)
    away(True)
    drag(page, "a", middle(page, "b") + 10)
    page.mouse.up()
    expect(retry(page)).to_be_visible()
    expect(rows(page)).to_have_text(["a", "b"])
    away(False)
    retry(page).click()
    expect(rows(page)).to_have_text(["b", "a"])


def test_retry_in_dialogs(show, server, page, away):
    """Commands of the panel and of the dialogs also offer a retry."""
    models = [{"id": "a", "title": "a"}]
    opened(server, {"bindings": [{"cell": "Cell", "models": models}]})
    show("test")
    rows(page).first.click()
    panel(page, "Row")
    away(True)
    page.get_by_role("textbox", name="Model").fill('{"id": "a", "title": "typed"}')
    page.get_by_role("button", name="Send Update model").click()
    expect(retry(page)).to_be_visible()
    server.request("PATCH", "/v1/sessions/test/models", {"table": [{"id": "a", "title": "changed"}]})
    expect(page.locator("#panel h2")).to_have_text("changed")
    expect(page.get_by_role("textbox", name="Model")).to_have_value('{"id": "a", "title": "typed"}')
    away(False)
    retry(page).click()
    expect(rows(page)).to_have_text(["typed"])
    away(True)
    page.get_by_role("button", name="Open a session").click()
    page.get_by_role("dialog").get_by_label("Id").fill("morning")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(retry(page)).to_be_visible()
    away(False)
    retry(page).click()
    expect(page.get_by_role("heading", name="morning")).to_be_visible()


HIDING = """() => {
  let state = "visible";
  Object.defineProperty(document, "visibilityState", { get: () => state });
  window.seen = (isSeen) => {
    state = isSeen ? "visible" : "hidden";
    document.dispatchEvent(new Event("visibilitychange"));
  };
}"""


def test_eight_tabs(make_page, server):
    """Of eight tabs, the visible one works."""
    first = make_page()
    first.context.add_init_script(f"({HIDING})()")
    tabs = [first, *(first.context.new_page() for _ in range(7))]
    for tab in tabs:
        tab.set_default_timeout(60_000)
        tab.goto(f"{server.url}/#/sessions/party")
        expect(tab.locator(".status").first).to_have_text("Live")
        if tab is not tabs[-1]:
            tab.evaluate("seen(false)")
            expect(tab.locator(".status").first).to_have_text("Paused")
    edit(tabs[-1])
    tabs[-1].get_by_label("Delete Omar", exact=True).click()
    tabs[-1].get_by_label("Confirm: delete Omar").click()
    shown = ["Christa's Party", "Jonathan", "Sara", "Omar", "Yvonne", "Kalinda"]
    expect(rows(tabs[-1])).to_have_text(shown)
    expect(rows(tabs[0])).to_have_text(PARTY)
    tabs[-1].evaluate("seen(false)")
    tabs[0].evaluate("seen(true)")
    expect(tabs[0].locator(".status").first).to_have_text("Live")
    expect(rows(tabs[0])).to_have_text(shown)
    # The page has continued from its position: it received the update, not a snapshot.
    expect(tabs[0].locator(".moment .revision")).to_have_text(["r1", "r0"])


def test_live_status(show, page, hold):
    """A page that is shown again says "Live" only when it is."""
    page.add_init_script(f"({HIDING})()")
    show("party")
    page.evaluate("seen(false)")
    expect(page.locator(".status").first).to_have_text("Paused")
    streams = hold("GET", "**/updates?presence=*")
    page.evaluate("seen(true)")
    stream = streams()
    expect(page.locator(".status").first).to_have_text("Connecting…")
    stream.continue_()
    expect(page.locator(".status").first).to_have_text("Live")


# Tests of the layout


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 701, 740, 779, 780, 1280])
def test_nothing_is_clipped_or_collapses_at_any_width(make_page, server, screenshot, width, scheme):
    long = "A detail that is much longer than its title, as addresses are: 1 Infinite Loop, Cupertino, California, United States"
    models = [
        {"id": "a", "cell": "Cell", "title": "Invoice", "detail": long},
        {"id": "b", "cell": "Cell", "title": "A title that is itself rather long", "detail": "10:22"},
        {"id": "c", "cell": "Buttons", "title": "Image", "subtitle": "sub", "detail": "https://example.org/a/very/long/address/without/a/space/in/it"},
    ]
    events = {"archive": {}, "favourite": {}, "share": {}}
    opened(server, {"cells": {"Cell": {}, "Buttons": {"events": events}}, "bindings": [
        {"cellProvider": "${model.cell}", "models": models, "editing": "delete"}]})
    page = make_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.goto(f"{server.url}/#/sessions/test")
    expect(rows(page)).to_have_count(3)
    # The rows are drawn once more after the page has read the description. Only then is the button "share" visible.
    expect(page.get_by_role("button", name="share")).to_be_visible()
    clipped = """() => [...document.querySelectorAll("body > *, .bar *, .row *, dialog *")].filter((element) => {
      const { left, right, width } = element.getBoundingClientRect();
      return width > 0 && !element.matches(".visually-hidden *, .visually-hidden") && (left < -0.5 || right > innerWidth + 0.5);
    }).map((element) => element.outerHTML.slice(0, 80))"""
    assert page.evaluate(clipped) == []
    for part in [".title >> text=Invoice", ".title >> text=Image", ".detail >> text=10:22"]:
        assert page.locator(f".row {part}").bounding_box()["height"] < 30, f"{part} is broken into lines"
    screenshot(page, f"{scheme}-{width}-rows")
    if width < 780:
        page.get_by_role("group", name="Panes").get_by_role("button", name="Sessions").click()
    page.get_by_role("button", name="Open a session").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    dialog = page.get_by_role("dialog").bounding_box()
    for button in page.get_by_role("dialog").get_by_role("button").all():
        box = button.bounding_box()
        assert box["x"] >= dialog["x"] and box["x"] + box["width"] <= dialog["x"] + dialog["width"], button.inner_text()
    assert page.evaluate(clipped) == []
    screenshot(page, f"{scheme}-{width}-dialog")


# Tests of tokens, of copying, and of keyboard access


def test_tokens(page, make_server):
    """The page asks for a token once, and a viewer's token can change nothing."""
    server = make_server(token="secret")
    page.goto(f"{server.url}/#/sessions/party")
    page.get_by_role("dialog").get_by_label("Token").fill("secret")
    page.get_by_role("button", name="Use it").click()
    expect(rows(page)).to_have_text(PARTY)
    page.reload()
    expect(rows(page)).to_have_text(PARTY)
    viewer = server.request("POST", "/v1/sessions/party/tokens", {"role": "viewer", "expiresIn": 600})[1]["token"]
    page.get_by_role("button", name="Token").click()
    page.get_by_role("dialog").get_by_label("Token").fill(viewer)
    page.get_by_role("button", name="Use it").click()
    expect(page.get_by_text("This token lists no sessions")).to_be_visible()
    expect(rows(page)).to_have_text(PARTY)
    edit(page)
    page.get_by_label("Delete Omar", exact=True).click()
    page.get_by_label("Confirm: delete Omar").click()
    expect(page.get_by_role("alert").filter(has_text="role")).to_be_visible()
    assert server.snapshot()["revision"] == 0


def test_a_token_that_is_refused_is_said_to_be(page, make_server, screenshot):
    server = make_server(token="secret")
    page.goto(f"{server.url}/#/sessions/party")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("alert")).to_have_count(0)
    dialog.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Use it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The server refused this token")
    screenshot(page, "refused")
    dialog.get_by_label("Token").fill("secret")
    page.get_by_role("button", name="Use it").click()
    expect(rows(page)).to_have_text(PARTY)


def test_odd_links(page, server):
    """The page is shown whatever its link contains."""
    page.goto(f"{server.url}/?utm_source=x#/sessions/party")
    expect(rows(page)).to_have_text(PARTY)


def test_participant(page, make_server):
    """A participant's controls work although participants cannot read the description."""
    server = make_server(token="secret")
    participant = server.request("POST", "/v1/sessions/event/tokens", {"role": "participant", "expiresIn": 600})[1]["token"]
    page.goto(f"{server.url}/#/sessions/event")
    page.get_by_role("dialog").get_by_label("Token").fill(participant)
    page.get_by_role("button", name="Use it").click()
    page.get_by_role("switch", name="All-day").click()
    expect(page.get_by_role("switch", name="All-day")).to_have_attribute("aria-checked", "true")
    assert server.snapshot("event")["state"]["isAllDay"] is True


def test_copied_curl(make_page, show, server):
    """A copied curl command does the same as the button."""
    page = show("party", make_page(permissions=["clipboard-read", "clipboard-write"]))
    rows(page).nth(2).click()
    panel(page, "Row")
    page.get_by_label("Copy Delete as curl").click()
    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    command = page.evaluate("navigator.clipboard.readText()")
    answer = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=30, check=True).stdout
    assert json.loads(answer)["outcome"] == "applied"
    expect(rows(page)).to_have_text(["Christa's Party", "Jonathan", "Sara", "Omar", "Yvonne", "Kalinda"])


def test_rows_are_reached_and_tapped_by_keyboard(show, server):
    page = show("event")
    page.locator(".row", has_text="All-day").focus()
    for key in ["ArrowDown", "ArrowDown", "Enter"]:
        page.keyboard.press(key)
    expect(page.locator("input[type=time]")).to_be_visible()
    assert server.snapshot("event")["state"]["active"] == "startTime"
    expect(page.locator(".row", has_text="Start time")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone(make_page, show, screenshot, scheme):
    """Everything fits on a phone's screen."""
    page = show("bank", make_page(viewport=PHONE, has_touch=True, color_scheme=scheme))
    for pane in ["Table", "Details", "Sessions"]:
        page.get_by_role("group", name="Panes").get_by_role("button", name=pane).click()
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        screenshot(page, f"{scheme}-{pane}".lower())
    page.get_by_role("link", name="party").tap()
    expect(rows(page)).to_have_text(PARTY)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe(make_page, server, scheme):
    """Axe finds no barrier to accessibility."""
    page = make_page(viewport=DESKTOP, color_scheme=scheme)
    for path, tab in [("", None), ("sessions/bank", "Updates"), ("sessions/event", "Row"), ("sessions/party", "Requests"), ("sessions/shop", "Session"), ("tables/form", None)]:
        page.goto(f"{server.url}/#/{path}")
        expect(page.locator(".screen h1, .welcome h1")).to_be_visible()
        if tab:
            edit(page)
            rows(page).last.click()
            panel(page, tab)
            expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
        found = Axe().run(page).response["violations"]
        assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found] == [], path
