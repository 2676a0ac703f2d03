"""Braid Server as a pytest fixture: started once, put back before each test."""
import json
import os
import pathlib
import shutil
import subprocess
import urllib.error
import urllib.request

import pytest

TABLES = pathlib.Path(__file__).parent.parent / "attendees"  # your *.table.json and *.session.json


class Server:
    """What a test needs of the HTTP API."""

    def __init__(self, url):
        self.url = url

    def request(self, method, path, body=None, **headers):
        """Returns the status and the JSON that was answered. Refusals are answers, too."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json", **headers}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as refusal:
            return refusal.code, json.loads(refusal.read())

    def snapshot(self, session="party"):
        return self.request("GET", f"/v1/sessions/{session}/snapshot")[1]

    def rows(self, section, session="party"):
        return [row["id"] for shown in self.snapshot(session)["sections"] if shown["id"] == section for row in shown["rows"]]


@pytest.fixture(scope="session")
def braid_server():
    """A server of this test run's own: nothing on disk, a free port, ids and times that are the same in every run."""
    binary = os.environ.get("BRAID_SERVER_BINARY") or shutil.which("braid-server")
    assert binary, "put braid-server on the PATH, or name it by BRAID_SERVER_BINARY"
    command = [binary, "serve", "--test-mode", "--deterministic", "--database", ":memory:", "--port", "0", "--exit-with-stdin"]
    command += ["--fixtures", str(TABLES), "--log-level", "warning"]
    # Settings of this machine must not change the tests.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
    # The server ends with its standard input, even if this test run is killed.
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()  # it comes once connections are accepted
    assert line.startswith("listening on "), "the server did not start: it says why on stderr"
    yield Server(line.removeprefix("listening on ").strip())
    process.stdin.close()
    assert process.wait(timeout=15) == 0


@pytest.fixture
def braid(braid_server):
    """The server as after its start: with the fixtures, and without faults and recorded requests."""
    assert braid_server.request("POST", "/v1/test/reset")[0] == 204
    return braid_server
