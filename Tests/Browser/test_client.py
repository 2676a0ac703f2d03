"""Tests of braid.js in a real browser: with the updates in Tests/Golden, which the engine's and Node's tests also use,
and through a restart of the server.
"""
import json
import pathlib

import pytest

GOLDEN = pathlib.Path(__file__).parent.parent / "Golden/updates.json"


@pytest.fixture
def client_page(page, server):
    """A page with the server's origin that loads no script of its own."""
    page.goto(server.url + "/healthz")
    return page


def test_golden_updates_lead_where_they_lead_in_the_engine(client_page):
    cases = json.loads(GOLDEN.read_text())["cases"]
    applied = client_page.evaluate(
        """async (cases) => {
            const { applying } = await import("/braid.js");
            return cases.map(({ before, update }) => applying(update, before));
        }""",
        cases,
    )
    assert len(cases) > 60
    for case, snapshot in zip(cases, applied, strict=True):
        assert snapshot == case["after"], case["name"]


def test_faulty_updates_are_refused_for_the_engines_reasons(client_page):
    faults = [(case["before"], fault) for case in json.loads(GOLDEN.read_text())["cases"] for fault in case["faults"]]
    reasons = client_page.evaluate(
        """async (faults) => {
            const { applying, UpdateFault } = await import("/braid.js");
            const reason = (before, { update }) => {
                try { return JSON.stringify(applying(update, before)); }
                catch (error) { return error instanceof UpdateFault ? error.message : String(error); }
            };
            return faults.map(([before, fault]) => reason(before, fault));
        }""",
        faults,
    )
    assert len(faults) > 200
    assert reasons == [fault["fault"] for _, fault in faults]


def test_follows_through_restart(client_page, server):
    """A page follows a session through a restart of the server."""
    client_page.evaluate(
        """async () => {
            const { BraidClient } = await import("/braid.js");
            const told = (window.told = { snapshots: 0, updates: [], statuses: [] });
            window.party = new BraidClient({ random: () => 0.05 }).session("party");
            window.subscription = party.subscribe({
                onSnapshot: () => told.snapshots++, onUpdate: (update) => told.updates.push([update.from, update.to]), onStatus: (status) => told.statuses.push(status),
            });
        }"""
    )
    client_page.wait_for_function("subscription.status === 'live'")
    assert client_page.evaluate("party.edit({ delete: { section: 'attending', row: 1 } })")["revision"] == 1
    server.kill()
    client_page.wait_for_function("subscription.status === 'waiting'")
    server.start()
    assert server.request("PATCH", "/v1/sessions/party/models", {"invited": []})[0] == 200
    client_page.wait_for_function("subscription.revision === 2")
    assert client_page.evaluate("subscription.snapshot") == server.snapshot()
    assert client_page.evaluate("told.updates") == [[0, 1], [1, 2]]
    assert client_page.evaluate("told.snapshots") == 1
    client_page.evaluate("subscription.close()")


def test_a_page_sends_its_token_with_streams_too(page, make_server):
    server = make_server(token="secret")
    page.goto(server.url + "/healthz")
    told = page.evaluate(
        """async () => {
            const { BraidClient } = await import("/braid.js");
            const ending = (token) => new Promise((resolve) => {
                const subscription = new BraidClient({ token }).session("party").subscribe({
                    onSnapshot: ({ session }) => (subscription.close(), resolve(session)), onEnd: (problem) => resolve(problem.status),
                });
            });
            return [await ending("secret"), await ending("wrong"), await ending(undefined)];
        }"""
    )
    assert told == ["party", 401, 401]


@pytest.mark.parametrize("host, coding", [("127.0.0.1", "zstd"), ("tables.test", "gzip")])
def test_compressed_stream(page, make_server, host, coding):
    """A browser reads a compressed stream event by event."""
    # Chromium accepts zstd only from localhost and over TLS. An option of the browser resolves the other host name to
    # the server.
    server = make_server("--allow-origin", "http://tables.test")
    codings = {}
    page.on("response", lambda response: codings.update({response.url.rpartition("/")[2]: response.headers.get("content-encoding")}))
    page.goto(server.url.replace("127.0.0.1", host) + "/healthz")
    page.evaluate(
        """async () => {
            const { BraidClient } = await import("/braid.js");
            window.party = new BraidClient().session("party");
            window.subscription = party.subscribe({});
        }"""
    )
    page.wait_for_function("subscription.status === 'live'")
    for revision in range(1, 6):
        # The loop sends the next command only after the page has received this event.
        assert server.request("PATCH", "/v1/sessions/party/models", {"invited": [{"name": str(revision)}]})[0] == 200
        page.wait_for_function(f"subscription.revision === {revision}")
    assert page.evaluate("subscription.snapshot") == server.snapshot()
    page.evaluate("subscription.close()")
    assert codings["braid.js"] == codings["updates"] == coding
