"""Tests the configurations in docs/recipes/reverse-proxy.md with real proxies. The tests use other ports, and a
certificate that they make.
"""
import gzip
import http.client
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import time

import pytest

from documents import ROOT, Document
from server import Server, free_port, wait_until

RECIPE = Document(ROOT / "docs/recipes/reverse-proxy.md")
UNPACKED = ROOT / ".build/proxies"
NAME = "tables.example.com"
TOKEN = {"Authorization": "Bearer secret"}


def program(path):
    """Returns the path of a program, which is either unpacked from Debian's package or installed."""
    found = UNPACKED / path
    return str(found) if found.exists() else shutil.which(pathlib.Path(path).name, path=os.environ["PATH"] + ":/usr/sbin")


def replaced(text, pairs):
    for documented, real in pairs:
        assert documented in text, documented
        text = text.replace(documented, real)
    return text


@pytest.fixture(scope="module")
def server():
    with Server("--fixtures", ROOT / "Examples/attendees", token="secret") as server:
        yield server.url.removeprefix("http://")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={NAME}",
         "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem"],
        check=True, capture_output=True)
    return folder


def nginx(folder, server, certificate, port):
    [block] = RECIPE.of("nginx")
    text = replaced(block.text, [
        ("127.0.0.1:8080", server), ("listen 443", f"listen 127.0.0.1:{port}"), (f"/etc/letsencrypt/live/{NAME}", str(certificate)),
    ])
    places = "".join(f"{name}_temp_path {folder}/{name};\n" for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
    (folder / "nginx.conf").write_text(f"daemon off;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\nhttp {{\naccess_log off;\n{places}{text}}}\n")
    command = [program("usr/sbin/nginx"), "-p", folder, "-c", folder / "nginx.conf"]
    subprocess.run([*command, "-t"], check=True, capture_output=True)
    return command


def caddy(folder, server, certificate, port):
    [block] = RECIPE.of("caddy")
    text = replaced(block.text, [("127.0.0.1:8080", server), (f"{NAME} {{", f"{NAME}:{port} {{\n\tbind 127.0.0.1\n\ttls {certificate}/fullchain.pem {certificate}/privkey.pem")])
    (folder / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + text)
    command = [program("usr/bin/caddy"), "run", "--adapter", "caddyfile", "--config", folder / "Caddyfile"]
    subprocess.run([program("usr/bin/caddy"), "validate", "--adapter", "caddyfile", "--config", folder / "Caddyfile"], check=True, capture_output=True)
    return command


@pytest.fixture(scope="module", params=[("usr/sbin/nginx", nginx), ("usr/bin/caddy", caddy)], ids=["nginx", "caddy"])
def proxy(request, server, certificate, tmp_path_factory):
    """Starts a proxy with the recipe's configuration. Returns a function that opens a connection to it."""
    path, start = request.param
    if program(path) is None:
        pytest.skip(f"{path} is not here: apt could not be asked for it")
    folder, port = tmp_path_factory.mktemp("proxy"), free_port()
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(start(folder, server, certificate, port), stdout=log, stderr=log, env={**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)})
    trust = ssl.create_default_context(cafile=certificate / "fullchain.pem")

    class Connection(http.client.HTTPSConnection):
        def __init__(self):
            super().__init__(NAME, port, context=trust, timeout=90)

        def connect(self):
            self.sock = trust.wrap_socket(socket.create_connection(("127.0.0.1", port), self.timeout), server_hostname=NAME)

        def ask(self, method, path, body=None, **headers):
            data = json.dumps(body) if body is not None else None
            self.request(method, path, data, {"Content-Type": "application/json", **TOKEN, **headers})
            answer = self.getresponse()
            return answer.status, answer, answer.read()

    def accepts():
        assert process.poll() is None, (folder / "log").read_text()
        try:
            Connection().connect()
        except OSError:
            return False
        return True

    wait_until(accepts)
    yield Connection
    process.terminate()
    process.wait(timeout=60)


def test_a_proxy_hands_on_what_positions_and_tokens_need(proxy):
    connection = proxy()
    status, answer, _ = connection.ask("GET", "/v1/sessions/party/snapshot")
    tag = answer.headers["ETag"]
    assert status == 200 and tag.startswith('"')
    assert connection.ask("GET", "/v1/sessions/party/snapshot", **{"If-None-Match": tag})[0] == 304
    assert connection.ask("PATCH", "/v1/sessions/party/state", {}, **{"If-Match": '"other.1"'})[0] == 412
    # The server compresses the answer, and the proxy passes the server's strong ETag on to the client.
    plain = connection.ask("GET", "/v1/sessions/party/snapshot?pretty")[2]
    _, answer, body = connection.ask("GET", "/v1/sessions/party/snapshot?pretty", **{"Accept-Encoding": "gzip"})
    coded = answer.headers["ETag"]
    assert answer.headers["Content-Encoding"] == "gzip" and gzip.decompress(body) == plain
    assert coded == tag.removesuffix('"') + '-gzip"'
    assert connection.ask("PATCH", "/v1/sessions/party/state", {}, **{"If-Match": coded})[0] == 200
    assert connection.ask("GET", "/v1/sessions/party/snapshot", Authorization="Bearer wrong")[0] == 401
    assert connection.ask("GET", "/healthz")[0] == 200 and connection.ask("GET", "/metrics")[0] == 404


def test_a_proxy_lets_events_through_as_they_happen(proxy):
    reader = proxy()
    reader.request("GET", "/v1/sessions/party/updates", headers={"Accept": "text/event-stream", **TOKEN})
    stream = reader.getresponse()

    def until(text):
        line = b""
        while text not in line:
            line = stream.readline()
            assert line, f"the stream ended before {text}"

    until(b"event: caught-up")
    for value in ["a", "b"]:
        # After this command, the test sends no further request until it has read the command's event. The answer to
        # another request could push the event through the proxy.
        assert proxy().ask("PATCH", "/v1/sessions/party/state", {"proxied": value + str(time.time())})[0] == 200
        until(b'"proxied":"' + value.encode())


def test_long_polls_and_large_bodies(proxy):
    """A proxy lets long polls wait and large bodies through."""
    connection = proxy()
    revision = json.loads(connection.ask("GET", "/v1/sessions/party")[2])["revision"]
    assert json.loads(connection.ask("GET", f"/v1/sessions/party/updates?since={revision}&wait=1")[2])["updates"] == []
    names = [{"name": "x" * 300 + str(number)} for number in range(10_000)]
    assert connection.ask("PATCH", "/v1/sessions/party/models", {"invited": names})[0] == 200


def test_lines_of_open_body(proxy):
    """A proxy passes on lines while their body continues."""
    sender, reader = proxy(), proxy()
    revision = json.loads(reader.ask("GET", "/v1/sessions/party")[2])["revision"]
    sender.putrequest("POST", "/v1/sessions/party/observe")
    for name, value in {"Content-Type": "application/x-ndjson", "Transfer-Encoding": "chunked", **TOKEN}.items():
        sender.putheader(name, value)
    sender.endheaders()
    for number in range(1, 3):
        line = json.dumps({"invited": [{"name": f"Guest {time.time()}"}]}) + "\n"
        sender.send(f"{len(line):x}\r\n{line}\r\n".encode())
        # The server must apply the line before the body of the `observe` request has ended.
        status, _, answer = reader.ask("GET", f"/v1/sessions/party/updates?since={revision}&wait=50")
        assert status == 200 and json.loads(answer)["to"] == revision + 1
        revision += 1
    sender.send(b"0\r\n\r\n")
    assert json.loads(sender.getresponse().read())["applied"] == 2
