import json
import re
import urllib.request

import pytest

from engine import Engine
from server import Server


@pytest.fixture(scope="session")
def url():
    """The URL of a running server, from which tests read its openapi.json, metrics and other pages."""
    with Server() as server:
        yield server.url


@pytest.fixture(scope="session")
def engine(tmp_path_factory):
    engine = Engine(tmp_path_factory.mktemp("engine") / "engine")
    if reason := engine.prepare():
        pytest.skip(reason)
    return engine


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """The metrics of a server with an SQLite file. The keys are the names in the lines `# TYPE`, and the values are the
    labels of their samples, without `le`.
    """
    with Server(database=tmp_path_factory.mktemp("exported") / "braid.sqlite") as server:
        def ask(method, path, body=None):
            data = json.dumps(body).encode() if body is not None else None
            with urllib.request.urlopen(urllib.request.Request(server.url + path, data, {"Content-Type": "application/json"}, method=method)) as answer:
                return answer.read().decode()

        # The metrics of requests, commands and durations have no samples before the first request or command, so the
        # fixture sends some.
        ask("POST", "/v1/sessions", {"id": "s", "rows": [1]})
        ask("POST", "/v1/sessions/s/taps", {"at": [0, 0]})
        text = ask("GET", "/metrics")
    families = {line.split()[2]: set() for line in text.splitlines() if line.startswith("# TYPE ")}
    for name, labels in re.findall(r"^([a-z_]+)(?:\{(.*)\})? ", text, re.M):
        family = name if name in families else re.sub(r"_(bucket|sum|count)$", "", name)
        families[family] |= set(re.findall(r'(\w+)="', labels)) - {"le"}
    return families
