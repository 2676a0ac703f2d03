"""The clients follow the client protocol, and the conformance kit catches those that do not."""
import pathlib
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
    "swift": {"updates", "commands", "stream", "poll"},
    "correct": {"commands", "stream", "poll"},
}
PAGE = (ROOT / "docs/http-api/client-protocol.md").read_text()
RULES = re.findall(r"^\| ([A-Z]\d+) \|", PAGE, re.M)
# A row of the README's table: a broken client, the rule that it breaks, and the scenario that catches it.
BROKEN = re.findall(r"^\| `(\w+)\.py` \| ([A-Z]\d+): .* \| `([\w-]+)` \|$", (KIT / "README.md").read_text(), re.M)


@pytest.fixture(scope="session")
def server():
    with kit.Server(BINARY) as server:
        yield server


def driver(client):
    command = CLIENTS[client]
    if command[0] == "node" and not shutil.which("node"):
        pytest.skip("there is no Node here")
    return command


@pytest.mark.parametrize("client", CLIENTS)
def test_a_driver_has_the_levels_of_its_client(client):
    assert kit.levels(driver(client))[1] == LEVELS[client]


@pytest.mark.parametrize("client, scenario", [
    pytest.param(client, scenario, id=f"{client}-{name}")
    for client in CLIENTS for name, scenario in SCENARIOS.items() if LEVELS[client].issuperset(scenario.needs)
])
def test_a_client_passes_a_scenario(server, client, scenario):
    faults, said = kit.play(scenario, server, driver(client))
    assert faults == [], said


@pytest.mark.parametrize("client, rule, scenario", BROKEN, ids=[client for client, *_ in BROKEN])
def test_the_kit_catches_a_broken_client(server, client, rule, scenario):
    faults, said = kit.play(SCENARIOS[scenario], server, [sys.executable, KIT / f"broken/{client}.py"])
    assert rule in {fault.rule for fault in faults}, faults
    assert "Traceback" not in said, said


def test_the_readme_lists_each_broken_client():
    clients = {path.stem for path in (KIT / "broken").glob("*.py")} - {"correct"}
    assert clients == {client for client, *_ in BROKEN}
    assert len(clients) == 10


def test_each_rule_has_a_scenario_and_each_scenario_has_rules_of_the_page():
    assert len(RULES) == len(set(RULES))
    checked = {rule for scenario in SCENARIOS.values() for rule in scenario.rules}
    checked |= {expected["rule"] for scenario in SCENARIOS.values() for expected in scenario.expect.get("requests", [])}
    assert checked == set(RULES)
    assert {rule for _, rule, _ in BROKEN} <= checked


def test_the_page_and_the_kit_have_the_same_levels():
    assert tuple(sorted(re.findall(r"^\| `(\w+)` \|", PAGE, re.M))) == tuple(sorted(kit.LEVELS))
