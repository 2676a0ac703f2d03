"""Braid Server as a pytest fixture: the server is started once, and reset before each test."""
import json
import os
import pathlib
import shutil
import subprocess
import urllib.error
import urllib.request

import pytest

# replace this by the folder with your *.table.json and *.session.json
TABLES = pathlib.Path(__file__).parent.parent / "attendees"


class Server:
    """The requests of the HTTP API that the tests need."""

    def __init__(self, url):
        self.url = url

    def request(self, method, path, body=None, **headers):
        """Returns the status and the JSON of the answer. The method returns a refusal like any other answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json", **headers}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as refusal:
            return refusal.code, json.loads(refusal.read())

    def snapshot(self, session="party"):
        return self.request("GET", f"/v1/sessions/{session}/snapshot")[1]

    def rows(self, section, session="party"):
        return [row["id"] for shown in self.snapshot(session)["sections"] if shown["id"] == section for row in shown["rows"]]


@pytest.fixture(scope="session")
def braid_server():
    """A server for this test run: without files on disk, on a free port, with the same ids and times in every run."""
    binary = os.environ.get("BRAID_SERVER_BINARY") or shutil.which("braid-server")
    assert binary, "put braid-server on the PATH, or name it by BRAID_SERVER_BINARY"
    command = [binary, "serve", "--test-mode", "--deterministic", "--database", ":memory:", "--port", "0", "--exit-with-stdin"]
    command += ["--fixtures", str(TABLES), "--log-level", "warning"]
    # Environment variables of this machine must not change the settings of the server.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
    # The server ends when its standard input is closed. So the server also ends if this test run is killed.
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()  # the server prints this line when it accepts connections
    assert line.startswith("listening on "), "the server did not start: it says why on stderr"
    yield Server(line.removeprefix("listening on ").strip())
    process.stdin.close()
    assert process.wait(timeout=60) == 0


@pytest.fixture
def braid(braid_server):
    """The server in the state after its start: with the fixtures, and without faults and recorded requests."""
    assert braid_server.request("POST", "/v1/test/reset")[0] == 204
    return braid_server
