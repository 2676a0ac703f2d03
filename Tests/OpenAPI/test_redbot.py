"""Lets REDbot check the answer to every GET, as caches, proxies and browsers see it."""
import concurrent.futures
import json
import pathlib
import subprocess
import sys

import pytest

from server import ROOT
from test_openapi import ExampleServer

REDBOT = pathlib.Path(sys.executable).parent / "redbot"
VALUES = {"{id}": "party", "{table}": "attendees", "{version}": "1", "{name}": "row-not-found", "{section}": "0", "{row}": "0", "{file}": "table.js"}
QUERIES = {"/v1/sessions/{id}/updates": "?since=0"}
# The path of a row by its id. In this path, `{section}` is a section's id and not its index.
PATHS = {"/v1/sessions/{id}/sections/{section}/rows/{rowId}": "/v1/sessions/party/sections/description/rows/1"}


def paths():
    document = json.loads((ROOT / "docs/openapi.json").read_text())
    return [path for path, operations in document["paths"].items() if "get" in operations]


@pytest.fixture(scope="module")
def opinions():
    server = ExampleServer("--test-mode", token=None)
    # REDbot resolves names only with DNS, which does not know localhost.
    url = server.url.replace("localhost", "127.0.0.1")

    def ask(path):
        target = PATHS.get(path, path)
        for name, value in VALUES.items():
            target = target.replace(name, value)
        run = subprocess.run([REDBOT, "-o", "har", url + target + QUERIES.get(path, "")], stdout=subprocess.PIPE, text=True, timeout=120)
        return json.loads(run.stdout)["log"]["entries"]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        yield dict(zip(paths(), pool.map(ask, paths())))
    server.stop()


@pytest.mark.parametrize("path", paths())
def test_redbot_finds_no_error(opinions, path):
    entries = opinions[path]
    assert entries and entries[0]["response"]["status"] == 200
    notes = [note for entry in entries for note in entry["_red_messages"]]
    assert notes
    assert [note for note in notes if note["level"] == "BAD"] == []
