"""The container engine of the tests of documents. It is podman, with its own storage, and with images that contain the
tested binary.

`Tests/Docs/bin/start/docker` runs this file as `docker`, for the commands that documents show: `docker compose …`.

The tests reach no registry, and building the binary takes minutes. So an image is made from the tested binary, its
libraries, and the instructions of the Dockerfile's last stage, except RUN, COPY and ARG.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import yaml

from documents import ROOT
from server import BINARY

FILES = {
    # podman's settings for a machine without systemd. Such a machine has no cgroups for the containers and no timers
    # for health checks.
    "containers.conf": """[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
runtime = "runc"
[network]
network_backend = "cni"
network_config_dir = "{folder}/networks"
""",
    "storage.conf": """[storage]
driver = "vfs"
graphroot = "{folder}/storage"
runroot = "{folder}/run"
""",
}


class Engine:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.environment = os.environ | {
            "CONTAINERS_CONF": str(self.folder / "containers.conf"), "CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf")}

    def prepare(self):
        """Creates the storage, and an image with only the binary and its libraries. If containers cannot run on this
        machine, returns the reason, otherwise None.
        """
        missing = [program for program in ["podman", "runc"] if not shutil.which(program)]
        if missing or os.geteuid() != 0:
            return f"needs {missing[0] if missing else 'root'}"
        self.folder.mkdir()
        for name, text in FILES.items():
            (self.folder / name).write_text(text.format(folder=self.folder))
        context = self.folder / "context"
        (context / "data").mkdir(parents=True)
        program = context / "root/usr/local/bin/braid-server"
        program.parent.mkdir(parents=True)
        if subprocess.run(["strip", "-o", program, BINARY], capture_output=True).returncode != 0:
            shutil.copy(BINARY, program)
        linked = subprocess.run(["ldd", BINARY], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"(/\S+) \(0x", linked):
            (context / ("root" + library)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, context / ("root" + library))
        (context / "Base").write_text("FROM scratch\nCOPY root /\nCOPY --chown=10001:10001 data /data\n")
        self.podman("build", "--quiet", "--layers=false", "--file", context / "Base", "--tag", "base", context)
        try:
            self.podman("network", "create", "probe")
            self.podman("run", "--rm", "--network", "probe", "--publish", "127.0.0.1::8080", "base", "braid-server", "--version")
        except subprocess.CalledProcessError as error:
            return f"containers do not run here: {error.stderr.strip().splitlines()[-1]}"
        finally:
            self.remove()
        return None

    def podman(self, *arguments, check=True):
        return subprocess.run(["podman", *map(str, arguments)], env=self.environment, check=check, capture_output=True, text=True).stdout.strip()

    def build(self, name):
        """Builds an image from the last stage of the Dockerfile."""
        stage = re.split(r"^FROM .*\n", (ROOT / "Dockerfile").read_text(), flags=re.M)[-1]
        instructions = re.findall(r"^(?!RUN|COPY|ARG|#| )(\S+ .*)$", stage, re.M)
        text = re.sub(r"--start-interval=\S+ ", "", "\n".join(["FROM base", *instructions]))
        (self.folder / "context/Image").write_text(text)
        self.podman("build", "--quiet", "--format", "docker", "--layers=false", "--file", self.folder / "context/Image", "--tag", name, self.folder / "context")

    def containers(self):
        """Returns podman's description of the running containers."""
        names = self.podman("ps", "--quiet").split()
        return [json.loads(self.podman("inspect", name))[0] for name in names]

    def remove(self):
        self.podman("rm", "--all", "--force", "--time", "0", check=False)
        self.podman("network", "prune", "--force", check=False)

    def compose(self, arguments, port):
        """Runs `docker compose ARGUMENTS` in the current directory, with another port instead of 8080. Returns when the
        containers are healthy.
        """
        arguments = list(arguments)
        file = pathlib.Path(arguments[arguments.index("-f") + 1] if "-f" in arguments else "compose.yaml")
        described = yaml.safe_load(file.read_text())
        for service in described["services"].values():
            service["ports"] = [address.replace(":8080:", f":{port}:") for address in service["ports"]]
            # The podman of the tests does not know the setting start_interval.
            service.get("healthcheck", {}).pop("start_interval", None)
            # If a service has limits, podman raises all other limits of its processes. This needs a right that root may
            # lack, so the limit nproc is set, too.
            if "ulimits" in service:
                service["ulimits"].setdefault("nproc", 4096)
            self.build(service["image"])
        started = pathlib.Path(f"started-{file.name}")
        started.write_text(yaml.safe_dump(described))
        assert "up" in arguments
        subprocess.run([sys.executable, "-m", "podman_compose", "-f", started, "up", "--detach", "--no-build"], env=self.environment, check=True)
        # On a machine without systemd, the health checks run only when this loop starts them.
        for container in self.containers():
            for _ in range(400):
                if subprocess.run(["podman", "healthcheck", "run", container["Id"]], env=self.environment, capture_output=True).returncode == 0:
                    break
                # The interval of the health checks.
                time.sleep(0.25)
            else:
                raise SystemExit(self.podman("logs", container["Id"]))


if __name__ == "__main__":
    assert sys.argv[1] == "compose", sys.argv
    Engine(os.environ["DOCS_ENGINE"]).compose(sys.argv[2:], os.environ["BRAID_PORT"])
