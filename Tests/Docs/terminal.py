"""Simulates a reader's terminal. It runs the `sh` blocks of one document, in order, in a directory that looks like a
checkout.

The simulation differs from a reader's terminal in these points:
- `./run` and `braid-server serve` start the tested binary in the background, and return once it accepts connections.
  They first kill the server that was started before. `./test` does nothing, because it runs these tests.
- The server has another port than 8080. The folders /data, /backups and /run/secrets are inside the directory.
- `curl -N` runs in the background, as in another terminal.
- curl also records the statuses of the answers.
"""
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

from documents import ROOT
from server import BINARY
SHIMS = pathlib.Path(__file__).parent / "bin"
DONE = "done-5f1e"
SECONDS = 180  # the time limit for one documented block, in seconds; a block usually takes one second


class Terminal:
    def __init__(self, directory, port, is_empty=False):
        self.directory, self.port = directory, port
        self.home = directory / "checkout"
        self.home.mkdir()
        for name in ["data", "backups", "run/secrets", "streams"]:
            (directory / name).mkdir(parents=True)
        if not is_empty:
            self._check_out()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
        environment |= {
            "PATH": f"{SHIMS}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}", "BRAID_PORT": str(port), "PYTHONDONTWRITEBYTECODE": "1",
            "DOCS_BINARY": str(BINARY), "DOCS_DIRECTORY": str(directory), "DOCS_CURL": shutil.which("curl"), "TZ": "UTC", "no_proxy": "*", "LC_ALL": "C.UTF-8",
        }
        self.shell = subprocess.Popen(
            ["bash", "--norc"], cwd=self.home, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.lines, self.blocks = queue.Queue(), 0
        threading.Thread(target=self._listen, daemon=True).start()
        self._send("set -e; export DOCS_SHELL=$$")

    def _check_out(self):
        shutil.copytree(ROOT / "Examples", self.home / "Examples", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "docs/cookbook/tables", self.home / "docs/cookbook/tables")
        for name in ["run", "test"]:
            shutil.copy(SHIMS / "checkout" / name, self.home / name)
        for name, binary in [("debug", BINARY), ("release", SHIMS / "braid-server")]:
            (self.home / ".build" / name).mkdir(parents=True)
            (self.home / ".build" / name / "braid-server").symlink_to(binary)

    def _listen(self):
        for line in self.shell.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _send(self, line):
        self.shell.stdin.write(line + "\n")
        self.shell.stdin.flush()

    def real(self, text):
        """Returns the documented text with this terminal's port and directories instead of the documented ones."""
        text = text.replace("127.0.0.1:8080", f"127.0.0.1:{self.port}")
        return re.sub(r"(?<![\w./-])/(data|backups|run/secrets)\b", lambda place: f"{self.directory}/{place[1]}", text)

    def documented(self, text):
        return text.replace(f":{self.port}", ":8080").replace(str(self.directory), "")

    def save(self, name, text):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.real(text), encoding="utf-8")

    def run(self, text):
        """Runs a block. Returns its output, and the statuses of the answers that curl received. Raises AssertionError
        if the block fails.
        """
        self.blocks += 1
        script, errors = self.directory / f"block-{self.blocks}.sh", self.directory / f"block-{self.blocks}.err"
        script.write_text(self.real(text), encoding="utf-8")
        expected = re.search(r"# exit status (\d+)", text)
        guard = ("set +e; ", "; status=$?; set -e") if expected else ("", "; status=$?")
        self._send(f"{guard[0]}source {script} 2>{errors}{guard[1]}; printf '\\n%s %s\\n' {DONE} $status")
        output, status, deadline = "", None, time.monotonic() + SECONDS
        while status is None:
            try:
                line = self.lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"it does not end: {text}\nso far: {output}\n{errors.read_text()}") from None
            if line is None:
                raise AssertionError(f"a command failed with status {self.shell.wait()}:\n{text}\n{output}\n{self.documented(errors.read_text())}\n{self.log()}")
            if line.startswith(DONE):
                status = int(line.split()[1])
                output = output.removesuffix("\n")
            else:
                output += line
        said = errors.read_text()
        assert status == int(expected[1] if expected else 0), f"exit status {status}:\n{text}\n{output}\n{said}"
        return self.documented(output), [int(code) for code in re.findall(r"^curl-status (\d+)$", said, re.M)]

    def stream(self):
        """Returns the output so far of the stream that was started last."""
        files = sorted((self.directory / "streams").iterdir(), key=lambda path: int(path.name))
        assert files, "no stream was started"
        return self.documented(files[-1].read_text(encoding="utf-8"))

    def log(self):
        log = self.directory / "server.log"
        return "".join(log.read_text().splitlines(True)[-8:]) if log.exists() else ""

    def close(self):
        try:
            os.killpg(self.shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.shell.wait()
