"""Checks that the project's clients follow the client protocol, and that the conformance kit catches the broken
clients.
"""
import concurrent.futures
import contextlib
import re
import shutil
import sys

import pytest

from server import BINARY, ROOT

KIT = ROOT / "Clients/conformance"
sys.path.insert(0, str(KIT))

import kit  # noqa: E402

SCENARIOS = kit.scenarios()
CLIENTS = {
    "javascript": ["node", KIT / "drivers/javascript.mjs"],
    "python": [sys.executable, KIT / "drivers/python.py"],
    "swift": [BINARY.parent / "braid-client-driver"],
    "correct": [sys.executable, KIT / "broken/correct.py"],
}
LEVELS = {
    "javascript": {"updates", "commands", "stream", "poll", "windows"},
    "python": {"updates", "commands", "stream", "poll"},
    "swift": {"updates", "commands", "stream", "poll", "windows"},
    "correct": {"commands", "stream", "poll"},
}
PAGE = (ROOT / "docs/http-api/client-protocol.md").read_text()
RULES = re.findall(r"^\| ([A-Z]\d+) \|", PAGE, re.M)
# Each row of the table in the kit's README.md, as a triple: a broken client, the rule that it breaks, and the scenario
# that catches it.
BROKEN = re.findall(r"^\| `(\w+)\.py` \| ([A-Z]\d+): .* \| `([\w-]+)` \|$", (KIT / "README.md").read_text(), re.M)




def on(client, *values):
    """A test case for one client. The case is skipped if the program that runs the client is not installed."""
    program = shutil.which(CLIENTS[client][0])
    return pytest.param(client, *values, id="-".join([client, *values]), marks=pytest.mark.skipif(not program, reason="there is no Node here"))


@pytest.mark.parametrize("client", [on(client) for client in CLIENTS])
def test_a_driver_has_the_levels_of_its_client(client):
    assert kit.levels(CLIENTS[client], patience=60)[1] == LEVELS[client]


@pytest.fixture(scope="session")
def plays(request):
    """Plays the scenarios that the selected tests need. Each client runs in its own thread, with its own server.
    The broken clients share one thread and one server.
    """
    chosen = [item.callspec.params for item in request.session.items if "plays" in item.fixturenames and all(not mark.args[0] for mark in item.iter_markers("skipif"))]
    with contextlib.ExitStack() as stack:
        servers, pools, plays = {}, {}, {}
        for client, scenario in [(params["client"], params["scenario"]) for params in chosen]:
            # Each broken client plays only one scenario, so all of them share one server.
            group = client if client in CLIENTS else "broken"
            if group not in servers:
                servers[group] = stack.enter_context(kit.Server(BINARY))
                pools[group] = stack.enter_context(concurrent.futures.ThreadPoolExecutor(1))
            command = CLIENTS.get(client, [sys.executable, KIT / f"broken/{client}.py"])
            plays[client, scenario] = pools[group].submit(kit.play, SCENARIOS[scenario], servers[group], command, patience=60)
        yield plays


@pytest.mark.parametrize("client, scenario", [
    on(client, name) for client in CLIENTS for name, scenario in SCENARIOS.items() if LEVELS[client].issuperset(scenario.needs)
])
def test_a_client_passes_a_scenario(plays, client, scenario):
    faults, said = plays[client, scenario].result()
    assert faults == [], said


@pytest.mark.parametrize("client, rule, scenario", BROKEN, ids=[client for client, *_ in BROKEN])
def test_the_kit_catches_a_broken_client(plays, client, rule, scenario):
    faults, said = plays[client, scenario].result()
    assert rule in {fault.rule for fault in faults}, faults
    assert "Traceback" not in said, said


def test_the_readme_lists_each_broken_client():
    clients = {path.stem for path in (KIT / "broken").glob("*.py")} - {"correct"}
    assert clients == {client for client, *_ in BROKEN}
    assert len(clients) == 10


def test_rules_and_scenarios():
    """Each rule has a scenario and each scenario has rules of the page."""
    assert len(RULES) == len(set(RULES))
    checked = {rule for scenario in SCENARIOS.values() for rule in scenario.rules}
    checked |= {expected["rule"] for scenario in SCENARIOS.values() for expected in scenario.expect.get("requests", [])}
    assert checked == set(RULES)
    assert {rule for _, rule, _ in BROKEN} <= checked


def test_same_levels():
    """The page and the kit have the same levels."""
    assert tuple(sorted(re.findall(r"^\| `(\w+)` \|", PAGE, re.M))) == tuple(sorted(kit.LEVELS))
