"""Whether docs/openapi.json is true: valid, carried by the binary, and what the server does."""
import json
import os
import pathlib
import subprocess
import sys
import urllib.request

import openapi_spec_validator
import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
BINARY = os.environ.get("BRAID_SERVER_BINARY", ROOT / ".build/debug/braid-server")
TOKEN = "secret-of-the-controller"
PHASES = ["examples", "coverage", "fuzzing", "stateful"]


class Server:
    """A server of its own, with the examples' tables and sessions."""

    def __init__(self, token=TOKEN):
        command = [BINARY, "serve", "--port", "0", "--database", ":memory:", "--deterministic", "--log-level", "warning", "--fixtures", ROOT / "Examples"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **({"BRAID_TOKEN": token} if token else {})})
        self.url = self.process.stdout.readline().removeprefix("listening on ").strip()

    def stop(self):
        self.process.terminate()
        assert self.process.wait(timeout=15) == 0


@pytest.fixture(scope="module")
def runs():
    """Schemathesis' phases, each with a server of its own, side by side."""
    servers = [Server() for _ in PHASES]
    runs = {}
    for phase, server in zip(PHASES, servers):
        command = [
            sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run", server.url + "/openapi.json",
            "--header", "Authorization: Bearer " + TOKEN, "--phases", phase, "--suppress-health-check", "all", "--no-color",
        ]
        runs[phase] = subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    yield runs
    for run in runs.values():
        run.kill()
    for server in servers:
        server.stop()


@pytest.mark.parametrize("phase", PHASES)
def test_schemathesis_finds_nothing(runs, phase):
    output, _ = runs[phase].communicate(timeout=600)
    print(output)
    assert runs[phase].returncode == 0
    assert "No issues found" in output


def test_the_binary_carries_the_files():
    subprocess.run([ROOT / "Scripts/embed", "--check"], check=True)


def test_the_served_document_is_openapi_3_1():
    server = Server()
    with urllib.request.urlopen(server.url + "/openapi.json") as answer:
        document = json.load(answer)
    server.stop()
    openapi_spec_validator.validate(document)
