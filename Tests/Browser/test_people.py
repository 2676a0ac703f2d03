"""Tests of the inspector with several people: who acted, undo and redo, who is here."""
import copy
import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

ALL = ["Ada", "Bo", "Cy", "Dan", "Eve"]
GUESTS = {"table": "guests", "sections": ["guests"], "authors": True, "undo": "own",
          "cells": {"Guest": {}},
          "bindings": [{"on": {"section": "guests"}, "cell": "Guest", "editing": "delete", "moving": {"to": ["guests"]},
                        "models": [{"id": name.lower(), "title": name} for name in ALL]}]}


@pytest.fixture
def server(make_server):
    server = make_server(token="secret")
    assert server.request("POST", "/v1/sessions", {"id": "guests", "table": GUESTS})[0] == 201
    return server


@pytest.fixture
def token(server):
    """Makes a token: `token("kim", "Kim Novak")`."""

    def make(user=None, name=None, role="participant"):
        body = {"role": role, "expiresIn": 600, **({"user": user} if user else {}), **({"name": name} if name else {})}
        return server.request("POST", "/v1/sessions/guests/tokens" if role != "controller" else "/v1/tokens", body)[1]["token"]

    return make


@pytest.fixture
def sending(server, token):
    """Sends commands as somebody: `sending(token("lee"))("edits", {…})`. Returns the answer's status and JSON."""

    def make(token):
        other = copy.copy(server)
        other.token = token
        return lambda command, body: other.request("POST", f"/v1/sessions/guests/{command}", body)

    return make


@pytest.fixture
def show(make_page, server):
    """Shows the session to somebody: `show(token("kim"), **options)`, with the options of a Playwright context."""

    def show(token, **options):
        page = make_page(**options)
        page.add_init_script(f"sessionStorage.setItem('braid-token', {json.dumps(token)})")
        page.goto(f"{server.url}/#/sessions/guests")
        expect(page.locator(".status")).to_have_text("Live")
        return page

    return show


def rows(page):
    return page.locator(".row .title")


def who(page):
    """Who made each revision, the newest first."""
    return page.locator(".moment .who")


def here(page):
    return page.get_by_role("button", name=re.compile(r"others? (is|are) here"))


def delete(name):
    return {"delete": {"id": name}}


def test_undo(show, sending, server, token):
    """Each update names who made it and can be taken back; the keys take back one's own; a refusal says what is in the way."""
    kim, lee = token("kim", "Kim Novak", "controller"), sending(token("lee", "Lee"))
    page = show(kim)
    lee("edits", delete("bo"))
    sending(kim)("edits", delete("cy"))
    server.request("PATCH", "/v1/sessions/guests/state", {"mood": "calm"})
    expect(who(page)).to_have_text(["controller", "you", "Lee"])
    page.keyboard.press("Control+z")
    expect(rows(page)).to_have_text(["Ada", "Cy", "Dan", "Eve"])
    expect(who(page)).to_have_text(["you", "controller", "you", "Lee"])
    page.get_by_role("button", name="Redo what was undone by revision 4").click()
    expect(rows(page)).to_have_text(["Ada", "Dan", "Eve"])
    expect(page.get_by_role("button", name="Undo revision 5")).to_be_visible()
    # At an earlier revision the keys do nothing, and its button takes it back.
    page.locator("[data-revision='1']").click()
    expect(page.locator(".screen")).to_have_class(re.compile("past"))
    page.keyboard.press("Control+z")
    page.get_by_role("button", name="Undo revision 1", exact=True).click()
    expect(page.locator(".screen")).not_to_have_class(re.compile("past"))
    expect(rows(page)).to_have_text(["Ada", "Bo", "Dan", "Eve"])
    assert server.request("PATCH", "/v1/sessions/guests/sections/guests/rows/bo", {"title": "Bob"})[0] == 200
    expect(rows(page)).to_have_text(["Ada", "Bob", "Dan", "Eve"])
    page.get_by_role("button", name="Redo what was undone by revision 6").click()
    expect(page.get_by_role("alert")).to_contain_text("/sections/guests/rows/bo")


def test_undo_in_text(show, server, token):
    """In a text field, the keys are the browser's."""
    page = show("secret")
    server.request("POST", "/v1/sessions/guests/edits", delete("bo"))
    expect(rows(page)).to_have_text(["Ada", "Cy", "Dan", "Eve"])
    search = page.get_by_label("Search sessions and tables")
    search.press_sequentially("gu")
    page.keyboard.press("Control+z")
    expect(search).not_to_have_value("gu")
    page.get_by_role("tab", name="Session").click()
    page.get_by_label("Command").select_option("edits")
    page.get_by_label("Body").fill(json.dumps(delete("ada")))
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(page.locator(".large-title .subtitle")).to_contain_text("revision 3")
    expect(rows(page)).to_have_text(["Ada", "Cy", "Dan", "Eve"])
    page.get_by_role("tab", name="Session").press("Control+z")
    expect(rows(page)).to_have_text(ALL)
    page.keyboard.press("Control+Shift+z")
    expect(rows(page)).to_have_text(["Ada", "Cy", "Dan", "Eve"])
    page.keyboard.press("Control+y")
    expect(rows(page)).to_have_text(["Cy", "Dan", "Eve"])
    page.keyboard.press("Control+y")
    expect(page.get_by_role("status").filter(has_text="Nothing to redo")).to_be_visible()


def test_undo_of_participants(show, server, sending, token):
    """A participant gets the buttons if the description has `undo`; a viewer never."""
    kim = token("kim", "Kim Novak")
    sending(kim)("edits", delete("bo"))
    page = show(kim)
    sending(kim)("edits", delete("cy"))
    expect(who(page)).to_have_text(["you"])
    page.get_by_role("button", name="Undo revision 2").click()
    expect(rows(page)).to_have_text(["Ada", "Cy", "Dan", "Eve"])
    viewer = show(token("vi", role="viewer"))
    assert server.request("PUT", "/v1/sessions/guests/table", {"table": {name: value for name, value in GUESTS.items() if name != "undo"}})[0] == 200
    sending(kim)("edits", delete("dan"))
    expect(who(viewer)).to_have_text(["Kim Novak"])
    expect(viewer.get_by_role("button", name="Undo")).to_have_count(0)
    page.reload()
    expect(rows(page)).to_have_text(["Ada", "Cy", "Eve"])
    sending(kim)("edits", delete("eve"))
    expect(who(page)).to_have_text(["you"])
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)


def test_who_acted_long_ago(show, server):
    """Revisions that were not listed when they came name who made them when they are."""
    page = show("secret")
    for number in range(80):
        server.request("PATCH", "/v1/sessions/guests/state", {"number": number})
    expect(who(page)).to_have_text(["controller"] * 60)
    page.get_by_label("Revision", exact=True).fill("5")
    expect(page.locator("[data-revision='5'] .who")).to_have_text("controller")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_who_is_here(show, token, screenshot, scheme):
    """Others are shown in the bar, by name in a list, and at their rows; they go when they leave."""
    kim = show(token("kim", "Kim Novak"))
    anonymous = show(token())
    page = show("secret", color_scheme=scheme, viewport={"width": 1280, "height": 800})
    expect(here(page)).to_have_accessible_name("2 others are here: Kim Novak, Participant 2")
    kim.locator(".row", has_text="Bo").click()
    anonymous.locator(".row", has_text="Dan").click()
    expect(page.locator(".row", has_text="Bo").get_by_role("img")).to_have_accessible_name("Kim Novak is here")
    expect(page.locator(".row", has_text="Dan").get_by_role("img")).to_have_accessible_name("Participant 2 is here")
    here(page).click()
    expect(page.get_by_role("list", name="Who is here").get_by_role("button")).to_have_text([re.compile("Kim Novakat Bo"), re.compile("Participant 2at Dan")])
    assert [fault["id"] for fault in Axe().run(page).response["violations"]] == []
    screenshot(page, "list")
    page.keyboard.press("Escape")
    anonymous.close()
    kim.goto(kim.url.split("/#")[0] + "/healthz")
    expect(page.locator(".marks")).to_have_count(0)
    expect(here(page)).to_be_hidden()
