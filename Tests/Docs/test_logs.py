"""Checks that a server really logs the lines that docs/logs.md shows, apart from times, ids and numbers."""
import json
import os
import re
import subprocess
import urllib.error
import urllib.request

import pytest

from documents import ROOT, Document
from server import BINARY

LOGS = Document(ROOT / "docs/logs.md")
VARIABLES = {  # patterns for the parts of a line that differ from run to run
    r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z": "TIME", r"k3Jx9a-\d+|(?<=requestId=)[\w-]+|(?<=\"requestId\":\")[\w-]+": "REQUEST",
    r"(?<=token=)(?!file)[\w-]+|(?<=\"tokenId\":\")[\w-]+": "TOKEN", r"(?<=microseconds=)\d+|(?<=\"microseconds\":)\d+": "NUMBER",
    r"\b\d+(?= log lines)|(?<=dropped=)\d+": "NUMBER",
}
SHOWN = [line for block in LOGS.blocks if "run by" in block.marks for line in block.text.splitlines()]


def normal(line):
    for form, name in VARIABLES.items():
        line = re.sub(form, name, line)
    return line


def environment(**variables):
    return {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")} | variables


def ask(url, method, path, body=None, token="swordfish", **headers):
    data = None if body is None else json.dumps(body).encode()
    fields = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"} | headers
    request = urllib.request.Request(url + path, data, fields, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return json.loads(error.read())


def lines_of(log_format):
    """Returns the lines that a server logs when it receives the requests of the page."""
    command = [BINARY, "serve", "--port", "0", "--database", ":memory:", "--fixtures", ROOT / "Examples", "--log-format", log_format]
    sessions = len(list((ROOT / "Examples").rglob("*.session.json")))
    server = subprocess.Popen(
        command + ["--max-sessions", str(sessions)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(BRAID_TOKEN="swordfish"))
    url = server.stdout.readline().split()[-1]
    token = ask(url, "POST", "/v1/sessions/party/tokens", {"role": "participant", "expiresIn": 86_400})["token"]
    ask(url, "POST", "/v1/sessions/party/edits", {"delete": {"section": "attending", "row": 1}})
    ask(url, "GET", "/v1/sessions/party/snapshot", token=token, traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    ask(url, "POST", "/v1/sessions", {"rows": []})
    server.terminate()
    return server.communicate()[1].splitlines()


def lines_of_a_wrong_start():
    command = [BINARY, "serve", "--log-format", "json", "--port", "http"]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, env=environment()).stderr.splitlines()


def lines_after_a_full_pipe():
    """Returns the line with which a server logs that it has dropped log lines. The server's stderr is a pipe. The
    function reads the pipe only after the server has dropped lines.
    """
    server = subprocess.Popen(
        [BINARY, "serve", "--port", "0", "--database", ":memory:"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    url = server.stdout.readline().split()[-1]
    dropped = 0
    while not dropped:
        for _ in range(100):
            ask(url, "GET", "/" + 6_000 * "x")
        with urllib.request.urlopen(url + "/metrics") as metrics:
            dropped = int(re.search(r"^braid_log_lines_dropped_total (\d+)", metrics.read().decode(), re.M)[1])
    line = ""
    while "dropped" not in line:
        line = server.stderr.readline()
    server.terminate()
    server.communicate()
    return [line.rstrip("\n")]


@pytest.fixture(scope="module")
def logged():
    lines = lines_of("text") + lines_of("json") + lines_of_a_wrong_start() + lines_after_a_full_pipe()
    return [normal(line) for line in lines]


@pytest.mark.parametrize("shown", SHOWN)
def test_a_shown_line_is_logged(shown, logged):
    pattern = re.escape(normal(shown)).replace("…", ".*")
    assert any(re.fullmatch(pattern, line) for line in logged), "\n".join(logged)


def test_every_act_is_told():
    sources = "".join(path.read_text() for path in (ROOT / "Sources").rglob("*.swift"))
    acts = set(re.findall(r"""(?:logAct|fixtureAct)\(\s*"([^"]+)\"""", sources))
    told = {name for name in re.findall(r"^\| `([^`]+)` \| (?:`(?:table|session)`|no field)", LOGS.text, re.M)}
    assert acts == told and len(acts) > 5
