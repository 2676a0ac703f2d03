"""Checks that the compose files and the Dockerfile are valid, and that their settings fit together."""
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from documents import ROOT

PATHS = sorted(ROOT.glob("compose*.yaml"))
EACH = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
BIN = Path(sys.executable).parent


def services(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))["services"]


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m)", text).groups()
    return int(number) * {"ms": 0.001, "s": 1, "m": 60}[unit]


def test_all_compose_files_are_here():
    assert [path.name for path in PATHS] == ["compose.cluster.yaml", "compose.production.yaml", "compose.yaml"]


def test_separate_projects():
    """The names of the volumes contain the project's name. With the same project name, the demo would use the data of
    the production server.
    """
    assert len({yaml.safe_load(path.read_text(encoding="utf-8"))["name"] for path in PATHS}) == 3


@EACH
def test_a_compose_file_is_valid(path):
    run = subprocess.run([BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", path], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_an_invalid_compose_file_is_found(tmp_path):
    path = tmp_path / "compose.yaml"
    path.write_text((ROOT / "compose.yaml").read_text().replace("read_only: true", "readonly: true"))
    run = subprocess.run([BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", path], capture_output=True, text=True)
    assert run.returncode == 1 and "'readonly' was unexpected" in run.stdout


def lint(text):
    # The rule DL3008 asks for a version of each package, but a stable release of Debian has only one version. The rule
    # DL3006 asks for a tag of each image, even of a stage whose name contains an argument.
    command = [BIN / "hadolint", "--no-color", "--ignore", "DL3008", "--ignore", "DL3006", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True)


def test_the_dockerfile_is_good():
    # hadolint does not understand milliseconds, so the test replaces 250 ms by 1 s.
    run = lint((ROOT / "Dockerfile").read_text().replace("250ms", "1s"))
    assert run.returncode == 0, run.stdout


def test_a_bad_dockerfile_is_found():
    assert "DL3002" in lint("FROM debian:bookworm-slim\nUSER root\n").stdout


@EACH
def test_rights(path):
    """A server can write only to its volume and has no rights."""
    for name, service in services(path).items():
        if name.startswith("braid"):
            assert service["read_only"] and service["cap_drop"] == ["ALL"] and service["security_opt"] == ["no-new-privileges:true"], name
            assert seconds(service["stop_grace_period"]) > 10, "a stop takes 10 seconds at most"


@EACH
def test_only_this_machine_can_connect(path):
    for service in services(path).values():
        assert all(re.fullmatch(r"127\.0\.0\.1:8080:8080", port) for port in service.get("ports", []))


def test_only_the_demo_needs_no_token():
    for path in PATHS:
        for name, service in services(path).items():
            environment = service.get("environment", {})
            if name.startswith("braid"):
                assert ("BRAID_ALLOW_ANONYMOUS" in environment) == (path.name == "compose.yaml")
                assert path.name == "compose.yaml" or environment.keys() & {"BRAID_TOKEN", "BRAID_TOKEN_FILE"}


def test_production_server():
    """The production server is limited and found within a second."""
    text = (ROOT / "compose.production.yaml").read_text()
    [service] = services(ROOT / "compose.production.yaml").values()
    assert "BRAID_FIXTURES" not in text and "build" not in service
    [secret] = service["secrets"]
    assert service["environment"]["BRAID_TOKEN_FILE"] == f"/run/secrets/{secret}"
    assert yaml.safe_load(text)["secrets"][secret] == {"file": f"./{secret}"}
    assert {"mem_limit", "cpus", "pids_limit"} <= set(service) and service["restart"] == "unless-stopped"
    options = service["logging"]["options"]
    assert set(options) == {"max-size", "max-file"} and all(isinstance(value, str) for value in options.values())
    # The limit of open files covers all connections that the server accepts, and some files for the server itself.
    [connections] = re.findall(r"^\| `--max-connections` \(([\d,]+)\)", (ROOT / "docs/limits.md").read_text(), re.M)
    assert service["ulimits"]["nofile"]["soft"] > int(connections.replace(",", "")) + 1000
    check = service["healthcheck"]
    # Compose runs the first health check after one start_interval. It uses the start_interval only during the
    # start_period.
    assert seconds(check["start_interval"]) <= 0.5 and seconds(check["start_period"]) > 10


def test_production_image():
    """The image of the production server is the release of the changelog."""
    version = re.search(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    image = f"braid-server:{version}"
    assert services(ROOT / "compose.production.yaml")["braid"]["image"] == image
    assert f"docker build -t {image} ." in re.sub(r"\s+", " ", (ROOT / "docs/operations.md").read_text())


def test_the_health_checks_are_those_of_the_image():
    """The health check in compose.production.yaml repeats the settings of the image's health check."""
    image = re.search(r"^HEALTHCHECK (.*) CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.M)
    told = dict(re.findall(r"--([a-z-]+)=(\S+)", image[1]))
    check = services(ROOT / "compose.production.yaml")["braid"]["healthcheck"]
    assert {name.replace("-", "_"): value for name, value in told.items()} == {name: check[name] for name in check.keys() - {"test", "retries"}}
    assert check["test"] == ["CMD", *yaml.safe_load(image[2])]
