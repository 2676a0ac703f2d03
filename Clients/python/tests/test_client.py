"""The client's rules for retries, keys and order, against a server that answers with prepared bytes."""
import threading
import time

import pytest
from scripted import ScriptedServer, json_answer, problem_answer

from braid_testing import BraidClient, ConnectionLost, Problem, position
from braid_testing.following import EventParser

DONE = json_answer({"revision": 1, "outcome": "applied", "update": {}})


@pytest.fixture
def waits():
    """Records the number of seconds that the client wants to wait before each retry. The client does not really wait.
    """
    return []


@pytest.fixture
def client(waits):
    return lambda server, **options: BraidClient(server.url, "secret", sleep=waits.append, **options)


@pytest.mark.parametrize("lost", [b"", DONE[:10], DONE[:-1], *map(problem_answer, [408, 429, 502, 503, 504]), problem_answer(503, "outcome-unknown"), json_answer([], Content_Type="text/html")])
def test_a_command_is_repeated_with_its_key(client, lost):
    with ScriptedServer(lost, lost, DONE) as server:
        assert client(server).session("party").tap([0, 1])["revision"] == 1
    keys = {request.headers["idempotency-key"] for request in server.received}
    assert len(server.received) == 3 and len(keys) == 1
    assert all((request.method, request.path, request.body) == ("POST", "/v1/sessions/party/taps", {"at": [0, 1]}) for request in server.received)
    assert all(request.headers["authorization"] == "Bearer secret" for request in server.received)


def test_two_commands_have_two_keys_and_a_chosen_key_is_sent(client):
    with ScriptedServer(DONE, DONE, DONE) as server:
        party = client(server).session("party")
        party.tap([0, 1])
        party.tap([0, 1])
        party.tap([0, 1], key="mine")
    first, second, third = (request.headers["idempotency-key"] for request in server.received)
    assert first != second and third == "mine"


@pytest.mark.parametrize("answer, count", [(b"", 1), (problem_answer(502), 1), (problem_answer(504), 1), (problem_answer(503, "outcome-unknown"), 1), (problem_answer(503), 3), (problem_answer(429), 3)])
def test_a_command_without_a_key_is_repeated_only_if_it_was_not_carried_out(client, answer, count):
    with ScriptedServer(answer, answer, DONE) as server:
        party = client(server).session("party")
        if count == 1:
            with pytest.raises((Problem, ConnectionLost)):
                party.put_row("invited", "Ada", {}, key=None)
        else:
            party.put_row("invited", "Ada", {}, key=None)
    assert len(server.received) == count and "idempotency-key" not in server.received[0].headers


def test_many_rows_are_sent_with_one_request(client):
    with ScriptedServer(DONE, DONE) as server:
        party = client(server).session("party")
        party.put_rows("invited", [{"name": "Ada"}], move=True)
        party.insert_rows("in/vited", 0, [{"name": "Ben"}])
    put, insert = server.received
    assert (put.method, put.path) == ("PUT", "/v1/sessions/party/rows")
    assert put.body == {"section": "invited", "models": [{"name": "Ada"}], "at": "end", "move": True}
    assert (insert.method, insert.path) == ("POST", "/v1/sessions/party/sections/in%2Fvited/rows")
    assert insert.body == {"at": 0, "models": [{"name": "Ben"}]}


def test_a_refusal_is_thrown_at_once(client, waits):
    with ScriptedServer(json_answer({"type": "/problems/row-gone", "detail": "It is gone.", "errors": [{"pointer": "/at", "code": "x", "detail": "y"}]}, "409 No")) as server:
        with pytest.raises(Problem, match="409 row-gone: It is gone.") as refusal:
            client(server).session("party").tap([0, 1])
    assert refusal.value.kind == "row-gone" and refusal.value.errors[0]["pointer"] == "/at" and not waits


def test_a_key_that_is_in_use_is_sent_again(client):
    with ScriptedServer(problem_answer(409, "idempotency-key-in-use"), DONE) as server:
        client(server).session("party").tap([0, 1])
    assert len(server.received) == 2


def test_retries_end_after_six_and_wait_longer_each_time(client, waits):
    with ScriptedServer(*[problem_answer(503)] * 8) as server:
        with pytest.raises(Problem) as refusal:
            client(server).session("party").snapshot()
    assert refusal.value.tries == len(server.received) == 7
    assert all(0 <= seconds <= 0.5 * 2 ** number for number, seconds in enumerate(waits)) and len(waits) == 6


def test_the_client_waits_as_long_as_the_server_asks_but_not_longer_than_30_seconds(client, waits):
    with ScriptedServer(problem_answer(503, Retry_After=7), problem_answer(503, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), problem_answer(503, Retry_After=31)) as server:
        with pytest.raises(Problem):
            client(server).session("party").snapshot()
    assert 7 <= waits[0] < 7.5 and waits[1] < 1 and len(waits) == 2


def test_a_silent_server_is_given_up():
    """The server accepts the connection and sends nothing."""
    with ScriptedServer() as server, pytest.raises(ConnectionLost):
        BraidClient(server.url, timeout=0.2, retries=0).session("party").snapshot()


def test_commands_of_a_session_keep_the_order_of_their_calls_across_retries(waits):
    """The first command fails twice before it succeeds. The later commands wait until then."""
    waiting, proceed = threading.Event(), threading.Event()

    def sleep(_):
        waiting.set()
        assert proceed.wait(60)

    with ScriptedServer(b"", b"", DONE, DONE, DONE) as server:
        client = BraidClient(server.url, sleep=sleep)
        threads = [threading.Thread(target=client.session("party").tap, args=[[0, row]]) for row in range(3)]
        threads[0].start()
        assert waiting.wait(60)
        turns = client._turns["/v1/sessions/party"]
        for number, thread in enumerate(threads[1:], 2):
            thread.start()
            while len(turns._waiting) < number:
                time.sleep(0.001)
        proceed.set()
        for thread in threads:
            thread.join()
    assert [request.body["at"][1] for request in server.received] == [0, 0, 0, 1, 2]


def test_an_ended_session_stays_ended_if_the_first_answer_was_lost(client):
    with ScriptedServer(b"", problem_answer(404, "session-not-found"), problem_answer(404, "session-not-found")) as server:
        client(server).session("party").end()
        with pytest.raises(Problem):
            client(server).session("party").end()


def test_the_query_of_a_command_is_complete(client):
    with ScriptedServer(DONE, DONE) as server:
        party = client(server).session("a/b c")
        party.delete({"id": "Omar"}, base={"epoch": "e", "revision": 3}, if_match="e.3", strict=True)
        party.tap([0, 1], dry_run=True)
    assert server.received[0].path == "/v1/sessions/a%2Fb%20c/edits?base=e.3&strict=true" and server.received[0].headers["if-match"] == '"e.3"'
    assert server.received[1].path.endswith("/taps?dryRun=true") and "idempotency-key" not in server.received[1].headers
    assert (position(3), position("e.3"), position({"revision": 4})) == ("3", "e.3", "4")


STREAM = "retry: 250\n\nid: e.1\nevent: update\ndata: {\"ü\":\ndata: 1}\n\n: comment\n\r\nevent: x\r\ndata\r\n\r\ndata:  y\r\rid: 7\n\n"
EVENTS = [("update", '{"ü":\n1}', "e.1"), ("x", "", None), ("message", " y", None)]


def test_events_are_the_same_however_the_bytes_are_cut():
    data = STREAM.encode()
    for size in range(1, len(data) + 1):
        parser = EventParser()
        found = [event for start in range(0, len(data), size) for event in parser.events(data[start:start + size])]
        assert found == EVENTS and parser.retry_time == 0.25, size
    assert list(EventParser().events(data[:data.index(b"1}\n") + 3])) == [], "half an event is no event"
