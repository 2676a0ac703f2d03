"""Checks that the test kits in Clients/ can start containers, and that docs/recipes/testcontainers.md is correct."""
import os
import re
import shutil
import subprocess
import sys

import pytest

from documents import ROOT, Document
from test_cluster import wait_until

RECIPE = Document(ROOT / "docs/recipes/testcontainers.md")
IMAGE = "braid-server:0.2.0"

# Stand-ins for the classes of Testcontainers that the Java example uses.
STAND_INS = {
    "org/testcontainers/utility/DockerImageName.java": """package org.testcontainers.utility;
        public final class DockerImageName { public static DockerImageName parse(String name) { return null; } }""",
    "org/testcontainers/utility/MountableFile.java": """package org.testcontainers.utility;
        public class MountableFile { public static MountableFile forHostPath(String path) { return null; } }""",
    "org/testcontainers/containers/wait/strategy/WaitStrategy.java": """package org.testcontainers.containers.wait.strategy;
        public interface WaitStrategy {}""",
    "org/testcontainers/containers/wait/strategy/HttpWaitStrategy.java": """package org.testcontainers.containers.wait.strategy;
        public class HttpWaitStrategy implements WaitStrategy { public HttpWaitStrategy forPort(int port) { return this; } }""",
    "org/testcontainers/containers/wait/strategy/Wait.java": """package org.testcontainers.containers.wait.strategy;
        public class Wait { public static HttpWaitStrategy forHttp(String path) { return null; } }""",
    "org/testcontainers/containers/GenericContainer.java": """package org.testcontainers.containers;
        import org.testcontainers.containers.wait.strategy.WaitStrategy;
        import org.testcontainers.utility.DockerImageName;
        import org.testcontainers.utility.MountableFile;
        public class GenericContainer<SELF extends GenericContainer<SELF>> implements AutoCloseable {
            public GenericContainer(DockerImageName image) {}
            @SuppressWarnings("unchecked") private SELF self() { return (SELF) this; }
            public SELF withExposedPorts(Integer... ports) { return self(); }
            public SELF withEnv(String name, String value) { return self(); }
            public SELF withCopyFileToContainer(MountableFile file, String path) { return self(); }
            public SELF waitingFor(WaitStrategy strategy) { return self(); }
            public void start() {}
            public String getHost() { return ""; }
            public Integer getMappedPort(int port) { return port; }
            public void close() {}
        }""",
}


@pytest.fixture
def containers(engine, tmp_path, monkeypatch):
    """Puts podman on the path as `docker`, with the server's image."""
    engine.build(IMAGE)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/docker").symlink_to(shutil.which("podman"))
    for name in ["CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF"]:
        monkeypatch.setenv(name, engine.environment[name])
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    yield engine
    engine.remove()


@pytest.mark.parametrize("kit, program, arguments", [
    ("python", None, ["-k", "test_the_tests_of_the_readme_pass or test_a_command_is_applied_once"]),
    ("node", "npm", ["--test-name-pattern=Copies of a session do not meet", "--test-name-pattern=A command is applied once"]),
    ("java", "javac", ["--include-classname", "GuestListTests"]),
])
def test_a_kit_starts_a_container_and_removes_it(containers, monkeypatch, kit, program, arguments):
    if program and not shutil.which(program) or kit == "java" and not os.path.exists("/usr/share/java/junit-platform-console.jar"):
        pytest.skip(f"there is no {program} here")
    monkeypatch.setenv("BRAID_SERVER_IMAGE", IMAGE)
    run = subprocess.run([ROOT / "Scripts/test-kits", kit, *arguments], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert {"python": " passed", "node": "# fail 0", "java": "2 tests successful"}[kit] in run.stdout
    wait_until(lambda: not containers.podman("ps", "--all", "--quiet"))


def test_testcontainers_for_python_start_a_container(containers, tmp_path):
    """Uses podman's service, which offers the API of Docker."""
    [block] = RECIPE.of("python")
    shutil.copytree(ROOT / "Examples/attendees", tmp_path / "tables")
    (tmp_path / "program.py").write_text(block.text)
    socket = tmp_path / "docker.sock"
    service = subprocess.Popen(["podman", "system", "service", "--time=0", f"unix://{socket}"])
    try:
        wait_until(socket.exists)
        environment = os.environ | {
            "PYTHONPATH": str(ROOT / "Clients/python"), "DOCKER_HOST": f"unix://{socket}", "TESTCONTAINERS_RYUK_DISABLED": "true",
            # The containers run on this machine, even if this machine is a container itself.
            "TESTCONTAINERS_CONNECTION_MODE": "docker_host", "TESTCONTAINERS_HOST_OVERRIDE": "127.0.0.1", "PYTHONDONTWRITEBYTECODE": "1",
        }
        run = subprocess.run([sys.executable, "-W", "error::DeprecationWarning:braid_testing", "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        assert not containers.podman("ps", "--all", "--quiet")
    finally:
        service.terminate()
        service.wait()


@pytest.mark.skipif(not shutil.which("javac"), reason="there is no JDK here")
def test_the_example_in_java_compiles(tmp_path):
    [block] = RECIPE.of("java")
    for name, text in STAND_INS.items() | {("Example.java", block.text)}:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    sources = [*tmp_path.rglob("*.java"), *(ROOT / "Clients/java/src/main").rglob("*.java")]
    run = subprocess.run(["javac", "--release", "17", "-d", tmp_path / "classes", *sources], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_all_examples_set_the_variables_of_the_table():
    names = set(re.findall(r"^\| `(BRAID_\w+)`", RECIPE.text, re.M))
    assert len(names) == 5
    for language in ["java", "go", "csharp"]:
        [block] = RECIPE.of(language)
        assert set(re.findall(r'"(BRAID_\w+)"', block.text)) == names, language
    container = (ROOT / "Clients/python/braid_testing/containers.py").read_text()
    assert all(f'"{name.removeprefix("BRAID_")}"' in container for name in names)
