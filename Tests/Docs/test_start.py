"""Checks that each documented way to start the server works in an empty folder, and that the first list in README.md
works afterwards.

Differences from a reader's machine: `swift build` builds nothing (bin/start/swift), and `docker` is podman with an image
of the tested binary (engine.py).
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile

import pytest
import yaml

from documents import ROOT, Document
from server import free_port
from terminal import SHIMS, Terminal
from test_documents import follow

README = Document(ROOT / "README.md")
STARTS = [block for block in README.of("sh") if block.marks.get("run by") == "Tests/Docs/test_start.py"]


STARTED_WITH = ["./run", "docker compose up", "./braid-server serve"]


def start(command):
    """Returns the one block of README.md that starts the server with this command."""
    [block] = [block for block in STARTS if re.search(rf"^{re.escape(command)}\b", block.text, re.M)]
    return block.text


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A repository with the files of this checkout, including files that are not committed."""
    folder = tmp_path_factory.mktemp("repository") / "braid-server.git"
    here = ["git", f"--git-dir={folder}", f"--work-tree={ROOT}", "-c", "core.bare=false", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "--quiet", "--bare", folder], check=True)
    subprocess.run([*here, "add", "--all", "."], check=True, cwd=ROOT)
    subprocess.run([*here, "commit", "--quiet", "--message", "all"], check=True, cwd=ROOT)
    return folder


@pytest.fixture
def terminal(tmp_path):
    terminal = Terminal(tmp_path, free_port(), is_empty=True)
    terminal.run(f"export DOCS_SHIMS={shlex.quote(str(SHIMS))} DOCS_PYTHON={shlex.quote(sys.executable)}\nPATH=$DOCS_SHIMS/start:$PATH\n")
    yield terminal
    terminal.close()


@pytest.fixture
def checkout(terminal, repository):
    """Makes the terminal's folder a checkout."""
    terminal.run(f"git clone -q {shlex.quote(str(repository))} braid-server && cd braid-server\n")


@pytest.fixture
def containers(engine, terminal):
    terminal.run(f"export DOCS_ENGINE={shlex.quote(str(engine.folder))}\n")
    yield engine
    engine.remove()


def follow_the_first_list(terminal):
    """Runs the commands that README.md shows after the start of the server, as in a second terminal."""
    terminal.run(f"cd {shlex.quote(str(terminal.home))}\n")
    follow(README, README.blocks[README.blocks.index(STARTS[-1]) + 1:], terminal)


def test_each_start_is_tested():
    assert len(STARTS) == 3 and len({start(command) for command in STARTED_WITH}) == 3


def test_the_readme_works_from_source(terminal, checkout):
    terminal.run(start("./run"))
    follow_the_first_list(terminal)
    has_the_examples(terminal)


def test_the_readme_works_with_the_binary(terminal):
    text = start("./braid-server serve")
    archive, folder = re.search(r"tar -xzf (\S+) && cd (\S+)", text).groups()
    version = re.search(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    assert (archive, folder) == (f"braid-server-{version}-linux-amd64.tar.gz", f"braid-server-{version}")
    with tarfile.open(terminal.home / archive, "w:gz") as file:
        file.add(SHIMS / "braid-server", f"{folder}/braid-server")
        file.add(ROOT / "Examples", f"{folder}/Examples")
    terminal.run(text)
    follow_the_first_list(terminal)
    has_the_examples(terminal)


def test_the_readme_works_in_a_container(terminal, checkout, containers):
    terminal.run(start("docker compose up"))
    follow_the_first_list(terminal)
    has_the_examples(terminal)
    refuses_other_names(terminal)
    [container] = containers.containers()
    assert container["Config"]["User"] == "10001" and container["HostConfig"]["ReadonlyRootfs"]
    assert container["EffectiveCaps"] in (None, [])
    # The port is bound to 127.0.0.1, so other machines cannot connect.
    assert container["HostConfig"]["PortBindings"] == {"8080/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(terminal.port)}]}


def test_readme_with_demo(terminal):
    """Tests the demo on a machine where no container can run: starts the binary with the environment of the image and
    of compose.yaml.
    """
    [service] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"].values()
    assert service["ports"] == ["127.0.0.1:8080:8080"]
    [fixtures] = [volume for volume in service["volumes"] if volume.endswith(":/fixtures:ro")]
    image = dict(pair.split("=", 1) for pair in re.search("^ENV (.*)", (ROOT / "Dockerfile").read_text(), re.M)[1].split())
    environment = image | service["environment"] | {"BRAID_FIXTURES": str(ROOT / fixtures.split(":")[0])}
    terminal.run(" ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items()) + " braid-server serve\n")
    follow_the_first_list(terminal)
    has_the_examples(terminal)
    refuses_other_names(terminal)


def has_the_examples(terminal):
    assert terminal.run("curl -s http://127.0.0.1:8080/v1/sessions/party/snapshot\n")[1] == [200]


def refuses_other_names(terminal):
    """The demo needs no token. So it must refuse requests with a host name that the author of a web page has pointed to
    this machine.
    """
    assert terminal.run("curl -s http://127.0.0.1:8080/v1/tables -H 'Host: evil.example:8080'\n")[1] == [421]
    assert terminal.run("curl -s http://127.0.0.1:8080/v1/tables -H 'Origin: http://evil.example'\n")[1] == [403]
    assert terminal.run("curl -s http://127.0.0.1:8080/v1/tables -H 'Host: localhost:8080'\n")[1] == [200]


def test_the_production_server_works_in_a_container(terminal, checkout, containers):
    operations = Document(ROOT / "docs/operations.md")
    [block] = [block for block in operations.of("sh") if block.marks.get("run by") == "Tests/Docs/test_start.py"]
    told = re.findall(r"^#   (.*)$", (ROOT / "compose.production.yaml").read_text(), re.M)
    assert block.text.splitlines() == told, "docs/operations.md and compose.production.yaml tell the same"
    terminal.run(block.text)
    assert terminal.run("curl -s http://127.0.0.1:8080/v1/sessions\n")[1] == [401]
    sessions, statuses = terminal.run('curl -s http://127.0.0.1:8080/v1/sessions -H "Authorization: Bearer $(cat braid-token)"\n')
    assert statuses == [200] and '"sessions":[]' in sessions, "there are no fixtures"
    [container] = containers.containers()
    limits = container["HostConfig"]
    assert (limits["Memory"], limits["NanoCpus"], limits["PidsLimit"]) == (2 << 30, 10**9, 512)
    assert {"Name": "RLIMIT_NOFILE", "Soft": 16384, "Hard": 16384} in limits["Ulimits"]
    assert limits["ReadonlyRootfs"] and limits["RestartPolicy"]["Name"] == "unless-stopped"
    assert container["EffectiveCaps"] in (None, [])
    # The data are in a volume, which remains when the container is removed.
    assert [mount["Destination"] for mount in container["Mounts"] if mount["Type"] == "volume"] == ["/data"]


def test_no_tokens():
    """No token is committed or copied into an image."""
    for name in [".gitignore", ".dockerignore"]:
        assert any(line.strip("/") == "braid-token" for line in (ROOT / name).read_text().splitlines()), name
