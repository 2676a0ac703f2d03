"""compose.cluster.yaml and its nginx: the file against the Dockerfile, and the proxy before three servers on one PostgreSQL."""
import http.client
import json
import os
import re
import socket
import subprocess
import threading
import time
import uuid

import pytest
import yaml

from documents import ROOT
from server import Server
from test_proxies import free_port, program, replaced

CONFIGURATION = (ROOT / "Examples/cluster/nginx.conf").read_text(encoding="utf-8")
POSTGRES = os.environ.get("BRAID_TEST_POSTGRES")
TOKEN = {"Authorization": "Bearer secret"}
TABLE = {"table": "t", "sections": ["a"], "cells": {"C": {}}, "bindings": [{"on": {"section": "a"}, "cell": "C", "models": [{"id": "1"}], "editing": "insert"}]}
needs_nginx = pytest.mark.skipif(program("usr/sbin/nginx") is None, reason="nginx is not here: apt could not be asked for it")


def test_the_compose_file_is_whole():
    text = (ROOT / "compose.cluster.yaml").read_text(encoding="utf-8")
    services = yaml.safe_load(text)["services"]
    servers = [name for name in services if name.startswith("braid-")]
    assert servers == re.findall(r"server (braid-\d):8080 ", CONFIGURATION) and len(servers) == 3
    assert all(services[name] == services["braid-1"] for name in servers)
    [trait] = services["braid-1"]["build"]["args"].items()
    assert trait == ("TRAITS", "PostgreSQL") and "ARG TRAITS=" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    for service in services.values():
        # Whoever waits for a healthy service does not wait for an interval, and Compose takes a start_interval only within a start_period.
        assert {"test", "interval", "timeout", "start_period", "start_interval"} <= set(service["healthcheck"])
        assert set(service.get("depends_on", {})) <= set(services)
        for name, value in service.get("environment", {}).items():
            assert not re.search("TOKEN|PASSWORD$", name) or re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), name
        for volume in service.get("volumes", []):
            assert not volume.startswith(".") or (ROOT / volume.split(":")[0]).exists(), volume


class Proxy:
    """nginx with the configuration, before other servers."""

    def __init__(self, folder, ports, replacements=()):
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        text = replaced(CONFIGURATION, [
            *((f"braid-{number + 1}:8080", f"127.0.0.1:{port}") for number, port in enumerate(ports)), ("listen 8080", f"listen 127.0.0.1:{self.port}"),
            ("access_log off;", "access_log off;" + "".join(f"{name}_temp_path {folder}/{name};" for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])),
            *replacements,
        ])
        (folder / "nginx.conf").write_text(text)
        self.process = subprocess.Popen([program("usr/sbin/nginx"), "-p", folder, "-c", folder / "nginx.conf", "-g", f"daemon off; pid {folder}/pid; error_log {folder}/error.log;"])
        for attempt in range(100):
            try:
                socket.create_connection(("127.0.0.1", self.port), 5).close()
                break
            except OSError:
                assert self.process.poll() is None and attempt < 99, (folder / "error.log").read_text()
                time.sleep(0.1)

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=15)


def ask(port, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json", **TOKEN, **headers})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text) if text.startswith(b"{") else {}


class ClusterServer(Server):
    def __init__(self, database, port=0):
        super().__init__(database=database, port=port, token="secret")

    def asked(self):
        """How many requests about a session it has answered."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        return sum(int(float(count)) for count in re.findall(r'^braid_http_requests_total\{[^}]*route="/v1/sessions/\{id\}[^}]*\} (\S+)$', text, re.M))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    if not POSTGRES:
        pytest.skip("needs PostgreSQL (Scripts/with-postgres), and a server that is built with it")
    schema = "t" + uuid.uuid4().hex
    subprocess.run(["psql", "-q", "-h", POSTGRES, "-U", "braid", "postgres", "-c", f"CREATE SCHEMA {schema}"], check=True)
    database = f"postgres://braid@/postgres?host={POSTGRES}&options=-csearch_path%3D{schema}"
    servers = [ClusterServer(database) for _ in range(3)]
    proxy = Proxy(tmp_path_factory.mktemp("nginx"), [server.port for server in servers])
    yield database, servers, proxy.port
    proxy.stop()
    for server in servers:
        server.process.kill()
        server.process.wait()


def follow(port, session, after=None):
    """A stream of events: a function that gives the next event's id and data."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", f"/v1/sessions/{session}/updates", headers={"Accept": "text/event-stream", **TOKEN, **({"Last-Event-ID": after} if after else {})})
    stream = connection.getresponse()
    assert stream.status == 200

    def next_event(name):
        event = {}
        while event.get("event") != name:
            event = {}
            while (line := stream.readline().decode()) != "\n":
                assert line, "the stream has ended"
                field, _, value = line.strip().partition(": ")
                event[field] = value
        return event["id"]

    return next_event


def homes(servers, port, session):
    """The servers that answered, of several requests about a session."""
    before = [server.asked() for server in servers]
    for number in range(3):
        assert ask(port, "PATCH", f"/v1/sessions/{session}/state", {"n": str(uuid.uuid4())})[0] == 200
        assert ask(port, "GET", f"/v1/sessions/{session}/snapshot?pretty")[0] == 200
        assert ask(port, "GET", f"/v1/sessions/{session}")[0] == 200
    return [index for index, server in enumerate(servers) if server.asked() != before[index]]


@needs_nginx
def test_requests_of_a_session_reach_one_server_and_sessions_are_spread(cluster):
    _, servers, port = cluster
    used = set()
    for number in range(24):
        assert ask(port, "POST", "/v1/sessions", {"id": f"s{number}", "table": TABLE})[0] == 201
        [home] = homes(servers, port, f"s{number}")
        used.add(home)
    assert used == {0, 1, 2}
    assert ask(port, "GET", "/metrics")[0] == 404


@needs_nginx
def test_when_a_server_is_killed_its_sessions_go_on_at_another(cluster):
    database, servers, port = cluster
    assert ask(port, "POST", "/v1/sessions", {"id": "k", "table": TABLE})[0] == 201
    [home] = homes(servers, port, "k")
    stream = follow(port, "k")
    stream("caught-up")
    revision = ask(port, "PATCH", "/v1/sessions/k/models", {"a": [{"id": "before"}]})[1]["revision"]
    position = stream("update")
    assert position.endswith(f".{revision}")
    servers[home].kill()
    # Nothing is lost on the way to where nobody listens.
    assert ask(port, "POST", "/v1/sessions/k/edits", {"insert": {"section": "a", "row": 0}, "model": {"id": "after"}})[1]["revision"] == revision + 1
    assert ask(port, "GET", "/v1/sessions/k/snapshot")[1]["revision"] == revision + 1
    with pytest.raises((AssertionError, http.client.HTTPException, OSError)):
        stream("update")
    stream = follow(port, "k", after=position)
    assert stream("update").endswith(f".{revision + 1}")
    stream("caught-up")
    others = [server for index, server in enumerate(servers) if index != home]
    [_] = homes(others, port, "k")
    assert stream("update").endswith(f".{revision + 2}")
    # Once it is back, it is asked again, and knows what was done elsewhere.
    servers[home] = ClusterServer(database, servers[home].port)
    for _ in range(200):
        assert ask(port, "GET", "/v1/sessions/k/snapshot")[1]["revision"] == revision + 4
        if servers[home].asked():
            break
        time.sleep(0.1)
    assert homes(servers, port, "k") == [home]


@needs_nginx
def test_what_was_sent_and_may_have_been_carried_out_is_not_sent_again(tmp_path):
    received = []

    def vanish(listener):
        """A server that dies over every request."""
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            if head := connection.recv(65536):
                received.append(head.split()[0].decode())
            connection.close()

    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    for listener in listeners:
        threading.Thread(target=vanish, args=[listener], daemon=True).start()
    proxy = Proxy(tmp_path / "nginx", [listener.getsockname()[1] for listener in listeners], [("max_fails=1 fail_timeout=5s", "max_fails=0")])
    try:
        for method in ["POST", "PUT", "PATCH", "DELETE"]:
            received.clear()
            assert ask(proxy.port, method, "/v1/sessions/x/rows/0/0", {})[0] == 502
            assert received == [method]
        received.clear()
        assert ask(proxy.port, "GET", "/v1/sessions/x/snapshot")[0] == 502
        assert received == ["GET"] * 3
    finally:
        proxy.stop()
        for listener in listeners:
            listener.close()
