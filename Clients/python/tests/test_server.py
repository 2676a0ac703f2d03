"""Tests of subscriptions, the record of requests, the clock, and how a server starts and ends."""
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from braid_testing import BraidClient, ConnectionLost, Problem, Server, VerificationFailed, applying, fault

FIXTURES = Path(__file__).parents[3] / "Examples/attendees"
BINARY = os.environ.get("BRAID_SERVER_BINARY", "")


# MARK: Following


def test_a_subscription_is_a_copy_of_the_table(party):
    with party.subscribe() as copy:
        copy.wait_until_live()
        party.delete({"id": "Sara"})
        party.move({"id": "Yvonne"}, {"section": "attending", "row": 0})
        party.patch_headers({"invited": "STILL INVITED"})
        party.patch_models({"attending": []})
        assert copy.wait_for_revision(4) == party.snapshot()
        party.reset()
        assert copy.wait_for_revision(5) == party.snapshot()
    assert copy.status == "closed"


def test_the_last_event_is_the_end_of_the_session(party):
    with party.subscribe() as copy:
        copy.wait_until_live()
        party.end()
        copy.wait_until(lambda copy: copy.status == "ended")
        with pytest.raises(TimeoutError, match="ended"):
            copy.wait_for_revision(1)
    assert copy.events[-1].kind == "ended" and copy.events[-1].data is None and copy.status == "ended"


def test_a_subscription_to_no_session_ends_with_the_refusal(client):
    with client.session("nowhere").subscribe() as copy:
        copy.wait_until(lambda copy: copy.status == "ended")
    assert copy.events[-1].data.kind == "session-not-found"


def test_a_controller_receives_taps_and_an_error_of_its_callback_changes_nothing(party, monkeypatch):
    errors = []
    monkeypatch.setattr("threading.excepthook", lambda arguments: errors.append(str(arguments.exc_value)))

    def callback(event):
        raise RuntimeError(event.kind)

    with party.subscribe(on_event=callback) as copy:
        copy.wait_until_live()
        party.tap({"id": "Sara"})
        tap = copy.wait_until(lambda copy: next((event for event in copy.events if event.kind == "tap"), None))
        assert tap.data["id"] == "Sara"
        # The subscription calls `on_event` only after it has woken the threads that wait for the event.
        deadline = time.monotonic() + 60
        while errors[-1:] != ["tap"] and time.monotonic() < deadline:
            time.sleep(0.001)
    assert errors == ["snapshot", "live", "tap"]


def test_updates_lead_from_one_snapshot_to_the_next(party):
    shown = party.snapshot()
    party.delete({"id": "Sara"})
    answer = party.delete({"section": "attending", "row": 1}, base=shown)
    found = party.updates(shown)
    for update in found["updates"]:
        shown = applying(update, shown)
    assert shown == party.snapshot() and found["to"] == answer["revision"] == 2
    [both] = party.updates(0, coalesce=True)["updates"]
    assert (both["from"], both["to"]) == (0, 2)
    assert party.updates(shown, wait=0)["updates"] == []


def test_presence_is_followed_and_shown_again_after_a_lost_connection(braid_server, party, braid_faults):
    kim = braid_server.client.with_token(party.token(user="kim", name="Kim")).session(party.id)
    with party.subscribe(presence=True) as copy, kim.subscribe(presence=True) as own:
        own.wait_until_live()
        me = kim.set_presence([1, 0], {"typing": True})
        assert (me["user"], me["at"], me["data"]) == ({"id": "kim", "name": "Kim"}, {"id": "Jonathan"}, {"typing": True})
        copy.wait_until(lambda copy: copy.present == [me])
        mine = party.set_presence()
        copy.wait_until(lambda copy: [client["id"] for client in copy.present] == [me["id"], mine["id"]])
        party.leave_presence()
        copy.wait_until(lambda copy: copy.present == [me] == party.presence())
        # The server forgets who was present, as after a restart, and the row is gone.
        kim.client.send("DELETE", f"{party.path}/presence", query={"client": kim.client.name})
        copy.wait_until(lambda copy: not copy.present)
        party.patch_models({"attending": []})
        braid_faults.set(fault.refuse_connections(1, method="POST", path="/v1/sessions/*/displayed-rows", times=1))
        party.displayed_rows([])
        copy.wait_until(lambda copy: [(client["id"], client.get("at")) for client in copy.present] == [(me["id"], None)])
        kim.leave_presence()
        copy.wait_until(lambda copy: not copy.present)


# MARK: Sessions


def test_commands_are_undone_and_updates_name_their_author(client):
    opened = client.open_session({"table": {
        "table": "tasks", "authors": True, "undo": "own", "cells": {"C": {}},
        "bindings": [{"cell": "C", "models": [{"id": "a"}], "editing": "delete"}]}})
    [section] = opened.snapshot()["sections"]
    kim = client.with_token(opened.token(user="kim", claims={"team": "red"})).session(opened.id)
    assert kim.delete({"id": "a"})["update"]["by"] == {"id": "kim", "name": None}
    assert kim.undo(dry_run=True)["revision"] == 2 and kim.undo()["outcome"] == "applied"
    assert opened.ids(section["id"]) == ["a"]
    kim.redo()
    opened.undo(1)
    opened.redo(4)
    assert opened.rows(section["id"]) == [] and opened.journal()["records"][0]["by"]["claims"] == {"team": "red"}
    opened.end()



def test_sessions_of_tests_do_not_meet(braid_server, braid_session):
    other = braid_server.session("party").fork()
    braid_session.delete({"id": "Sara"})
    assert "Sara" in other.ids("attending") and "Sara" in braid_server.session("party").ids("attending")
    other.end()


def test_a_fork_of_an_earlier_revision_has_its_table(braid_session):
    before = braid_session.snapshot()
    braid_session.delete({"id": "Sara"})
    fork = braid_session.fork(revision=0, id="earlier")
    assert fork.id == "earlier" and fork.opened["sections"] == before["sections"] == braid_session.snapshot(at=0)["sections"]
    fork.end()


def test_a_viewer_may_not_change_the_table(braid_server, braid_session):
    viewer = braid_server.client.with_token(braid_session.token("viewer")).session(braid_session.id)
    assert viewer.snapshot() == braid_session.snapshot()
    with pytest.raises(Problem) as refusal:
        viewer.tap({"id": "Sara"})
    assert refusal.value.kind == "role"
    with pytest.raises(Problem, match="401"):
        braid_server.client.with_token(None).sessions()


# MARK: Requests and the clock


def test_a_request_without_an_answer_is_a_nearest_miss(braid_server, braid_session, braid_faults):
    braid_server.requests.clear()
    braid_faults.set(fault.close(path="/v1/sessions/*/edits", times=1))
    braid_session.delete({"id": "Sara"}, key="k1")
    with pytest.raises(VerificationFailed, match="/edits → no answer"):
        braid_server.requests.verify(at_least=1, method="POST", path="/v1/sessions/*/edits", status=412)


def test_requests_are_verified(braid_server, braid_session):
    braid_server.requests.clear()
    braid_session.delete({"id": "Sara"}, key="k1")
    braid_session.delete({"id": "Sara"}, key="k1")
    verify = braid_server.requests.verify
    assert len(verify(exactly=2, session=braid_session.id, path="/v1/sessions/*/edits", headers={"idempotency-key": "k1"})) == 2
    verify(exactly=1, replayed=True)
    verify(at_most=0, status=412)
    with pytest.raises(VerificationFailed) as failure:
        verify(at_least=1, session=braid_session.id, method="POST", path="/v1/sessions/*/edits", body={"delete": {"id": "Omar"}})
    assert failure.value.count == 0 and len(failure.value.nearest_misses) == 2
    assert "'Omar'" in str(failure.value) and "'Sara'" in str(failure.value)
    with pytest.raises(Problem):
        verify()
    assert [entry["method"] for entry in braid_server.requests.all() if entry["path"].endswith("/edits")] == ["POST", "POST"]


def test_a_reset_brings_back_the_fixtures(braid_server):
    before = braid_server.session("party").snapshot()
    braid_server.session("party").delete({"id": "Sara"})
    braid_server.client.open_session({"id": "another", "rows": [1]})
    braid_server.reset()
    assert braid_server.session("party").snapshot()["sections"] == before["sections"]
    assert [session["id"] for session in braid_server.client.sessions()] == ["party"]
    assert braid_server.faults.all() == [] and len(braid_server.requests.all()) <= 2


def test_the_clock_is_set_and_advanced(braid_server):
    christmas = datetime(2026, 12, 24, 18, tzinfo=UTC)
    assert timedelta(0) <= braid_server.clock.set(christmas) - christmas < timedelta(minutes=1)
    assert timedelta(days=1) <= braid_server.clock.advance(timedelta(days=1)) - christmas < timedelta(days=1, minutes=1)
    assert braid_server.clock.now() > christmas
    with pytest.raises(ValueError, match="time zone"):
        braid_server.clock.set(datetime(2026, 12, 24))
    braid_server.reset()


# MARK: The server's life


def test_a_server_is_started_and_stopped():
    with Server.start(BINARY, FIXTURES, options=["--log-level", "info"]) as server:
        assert server.session("party").snapshot()["revision"] == 0
        process = server._process
        server.stop()
        assert process.returncode == 0
        assert "test" in server.log() and "/v1/sessions/party/snapshot" in server.log()


def test_a_server_that_does_not_start_says_why(tmp_path):
    (tmp_path / "bad.table.json").write_text("{")
    with pytest.raises(RuntimeError, match="bad.table.json"):
        Server.start(BINARY, tmp_path)


def test_a_server_is_found_by_the_environment(braid_server, tmp_path):
    variables = {"BRAID_SERVER_URL": braid_server.url, "BRAID_SERVER_TOKEN": braid_server.token, "BRAID_SERVER_IMAGE": "unused"}
    found = Server.find(tmp_path, environment=variables)
    assert found.url == braid_server.url and found.session("party").summary()["id"] == "party"
    with Server.find(FIXTURES, environment={"BRAID_SERVER_BINARY": BINARY}) as started:
        assert started.url != braid_server.url and started.session("party").summary()["revision"] == 0


def test_no_server_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="BRAID_SERVER_BINARY"):
        Server.find(FIXTURES, environment={})


def test_the_server_ends_with_the_process_that_started_it():
    program = "import os, sys; from braid_testing import Server; server = Server.start(*sys.argv[1:]); print(server.url, server.token, flush=True); os._exit(1)"
    environment = os.environ | {"PYTHONPATH": str(Path(__import__("braid_testing").__file__).parents[1])}
    url, token = subprocess.run([sys.executable, "-c", program, BINARY, FIXTURES], env=environment, capture_output=True, text=True).stdout.split()
    client = BraidClient(url, token, retries=0)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            client.session("party").summary()
        except ConnectionLost:
            break
    else:
        raise AssertionError("the server still runs")
