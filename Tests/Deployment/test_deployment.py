"""Checks the examples for systemd and Kubernetes: they are valid, they restrict the server, and they use options that
exist.
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess

import kubernetes_validate
import pytest
import yaml

from server import BINARY

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNIT = ROOT / "Examples/systemd/braid.service"
MANIFESTS = sorted((ROOT / "Examples/kubernetes").glob("*.yaml"))
RESOURCES = [(path.name, resource) for path in MANIFESTS for resource in yaml.safe_load_all(path.read_text())]
WORKLOADS = [pytest.param(resource, id=name) for name, resource in RESOURCES if resource["kind"] in ("Deployment", "StatefulSet")]
needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here")
# Three versions of Kubernetes, from old to new.
VERSIONS = ["1.32", "1.35", "1.37"]


def setting(name):
    """Returns the values of a setting in the systemd unit."""
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.M)


def options():
    text = subprocess.run([BINARY, "serve", "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^  --([a-z-]+)", text, re.M))


# MARK: systemd


@needs_systemd
def test_exposure_of_unit():
    """The exposure of the unit is at most 2."""
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=20", UNIT]
    analysis = subprocess.run(command, capture_output=True, text=True)
    assert analysis.returncode == 0, analysis.stdout + analysis.stderr


@needs_systemd
def test_systemd_understands_every_line_of_the_unit(tmp_path):
    unit = tmp_path / "braid.service"
    unit.write_text(UNIT.read_text().replace("/usr/local/bin/braid-server", str(BINARY)))
    analysis = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit], capture_output=True, text=True)
    assert analysis.returncode == 0 and "braid.service" not in analysis.stderr, analysis.stderr


def test_the_unit_starts_the_server_with_its_settings(tmp_path):
    """Starts the server with the command and the environment of the unit. A socket takes the place of systemd and
    receives the server's messages.
    """
    (tmp_path / "state/braid").mkdir(parents=True)
    (tmp_path / "token").write_text("secret\n")
    place = {"%S": str(tmp_path / "state"), "%d": str(tmp_path)}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
    for pair in " ".join(setting("Environment")).split():
        name, _, value = pair.partition("=")
        environment[name] = re.sub("%[Sd]", lambda found: place[found[0]], value)
    messages = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    messages.settimeout(60)
    messages.bind(str(tmp_path / "notify"))
    environment |= {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "90000", "BRAID_PORT": "0"}
    [program, *arguments] = setting("ExecStart")[0].split()
    assert program == "/usr/local/bin/braid-server"
    server = subprocess.Popen([BINARY, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert messages.recv(4096) == b"READY=1"
        assert messages.recv(4096) == b"WATCHDOG=1"
        assert (tmp_path / "state/braid/braid.sqlite").exists()
    finally:
        server.terminate()
    assert server.wait(60) == 0


@needs_systemd
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not here")
def test_system_calls_of_unit(tmp_path):
    """The unit's filter allows the system calls of the server."""
    def calls(group):
        text = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", group], capture_output=True, text=True, check=True).stdout
        names = {line.strip() for line in text.splitlines() if line.startswith("    ") and not line.strip().startswith("#")}
        return set().union(*(calls(name) if name.startswith("@") else {name} for name in names))

    allowed, denied = (calls(group.lstrip("~")) for group in setting("SystemCallFilter"))
    trace = tmp_path / "trace"
    server = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", trace, BINARY, "serve", "--port", "0", "--database", tmp_path / "braid.sqlite", "--fixtures", ROOT / "Examples"],
        env={name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    port = int(server.stdout.readline().strip().rpartition(":")[2])
    for path in ["/readyz", "/metrics", "/v1/sessions/party/snapshot"]:
        subprocess.run(["curl", "-fsS", "--compressed", f"http://127.0.0.1:{port}{path}"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["curl", "-fsS", f"http://127.0.0.1:{port}/v1/sessions/party/edits", "--json", '{"delete": {"section": "attending", "row": 1}}'], check=True, stdout=subprocess.DEVNULL)
    # strace does not forward signals, so the test sends the signal to the server itself.
    subprocess.run(["kill", (tmp_path / "braid.sqlite-lock").read_text().split()[0]], check=True)
    assert server.wait(60) == 0
    made = set(re.findall(r"^\d+ +([a-z0-9_]+)\(", trace.read_text(), re.M))
    assert {"epoll_wait", "fdatasync", "accept4"} <= made
    # SQLite calls fchown only as root, but the unit runs the server as another user.
    made -= {"fchown"} if os.geteuid() == 0 else set()
    assert made <= allowed - denied, made - allowed | made & denied


# MARK: Kubernetes


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("resource", [pytest.param(resource, id=f"{name}-{resource['kind']}") for name, resource in RESOURCES])
def test_a_resource_follows_the_schema_of_kubernetes(resource, version):
    """The schemas of a version of Kubernetes refuse unknown members, and contain no APIs that this version has removed.
    """
    kubernetes_validate.validate(resource, version, strict=True)


def test_the_schemas_refuse_a_misspelled_member():
    [service] = [resource for name, resource in RESOURCES if (name, resource["kind"]) == ("sqlite.yaml", "Service")]
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**service, "spec": {**service["spec"], "port": []}}, VERSIONS[0], strict=True)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_pod_follows_the_restricted_security_standard(workload):
    pod = workload["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    image = re.search(r"^USER (\d+)$", (ROOT / "Dockerfile").read_text(), re.M)
    assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["fsGroup"] == int(image[1])
    assert not pod["automountServiceAccountToken"] and not pod["enableServiceLinks"]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert container["resources"]["requests"].keys() == {"cpu", "memory"} and container["resources"]["limits"].keys() == {"memory"}


@pytest.mark.parametrize("workload", WORKLOADS)
def test_pod_options(workload):
    """A pod starts the server with options that exist and is drained in time."""
    pod = workload["spec"]["template"]["spec"]
    [container] = pod["containers"]
    arguments = container["args"]
    assert arguments[0] == "serve" and {word[2:] for word in arguments if word.startswith("--")} <= options()
    drain = int(arguments[arguments.index("--drain-time") + 1])
    readiness = container["readinessProbe"]
    assert drain > readiness["periodSeconds"] * readiness["failureThreshold"]
    assert pod["terminationGracePeriodSeconds"] > drain + 10
    assert [container[probe]["httpGet"]["path"] for probe in ["startupProbe", "livenessProbe", "readinessProbe"]] == ["/healthz", "/healthz", "/readyz"]
    token = arguments[arguments.index("--token-file") + 1]
    assert any(token.startswith(mount["mountPath"] + "/") for mount in container["volumeMounts"])


def test_services_policies_and_budgets_select_the_pods():
    labels = {"app.kubernetes.io/name": "braid-server"}
    for name, resource in RESOURCES:
        spec = resource["spec"]
        if resource["kind"] in ("Deployment", "StatefulSet"):
            assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"] == labels, name
        elif resource["kind"] == "Service":
            assert spec["selector"] == labels, name
        else:
            assert spec.get("podSelector", spec.get("selector"))["matchLabels"] == labels, name
