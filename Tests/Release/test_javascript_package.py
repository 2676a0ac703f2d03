"""Checks that npm can install the JavaScript client in a project with TypeScript and in a project without TypeScript.
"""
import json
import shutil
import subprocess

import pytest

from server import ROOT

pytestmark = pytest.mark.skipif(not shutil.which("npm"), reason="there is no npm here")

PROGRAM = """
import { BraidClient, Problem, type Snapshot } from "braid-server-client";

const client = new BraidClient({ url: "http://127.0.0.1:1" });
export const shown: Promise<Snapshot> = client.session("party").snapshot();
// @ts-expect-error: a session has no such method.
client.session("party").fly();
export const kind: string = new Problem(404).kind;
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project in which the JavaScript client is installed."""
    folder = tmp_path_factory.mktemp("project")
    name = subprocess.run([ROOT / "Scripts/pack-javascript-client", folder], check=True, capture_output=True, text=True).stdout.strip()
    (folder / "package.json").write_text(json.dumps({"name": "app", "private": True}))
    subprocess.run(["npm", "install", "--silent", "--offline", "--no-audit", f"./{name}"], cwd=folder, check=True)
    return folder


def test_content(project):
    """The package contains the client and its license only."""
    package = project / "node_modules/braid-server-client"
    assert sorted(path.name for path in package.iterdir()) == ["LICENSE", "README.md", "braid.d.ts", "braid.js", "package.json"]
    for name in ["braid.js", "braid.d.ts"]:
        assert (package / name).read_bytes() == (ROOT / "Web" / name).read_bytes()
    described = json.loads((package / "package.json").read_text())
    assert described["license"] == "MIT" and "dependencies" not in described


@pytest.mark.parametrize("suffix, text", [
    ("mjs", 'import { BraidClient } from "braid-server-client";'),
    ("cjs", 'import("braid-server-client").then(({ BraidClient }) => globalThis.run(BraidClient));'),
])
def test_node_imports_the_package(project, suffix, text):
    run = "globalThis.run = (BraidClient) => console.log(typeof new BraidClient({ url: 'http://127.0.0.1:1' }).session('party').snapshot);\n"
    (project / f"app.{suffix}").write_text(f"{text}\n{run}" + ("run(BraidClient);\n" if suffix == "mjs" else ""))
    assert subprocess.run(["node", f"app.{suffix}"], cwd=project, check=True, capture_output=True, text=True).stdout == "function\n"


@pytest.mark.skipif(not shutil.which("tsc"), reason="there is no TypeScript compiler here")
@pytest.mark.parametrize("resolution, module", [("node", "es2022"), ("node16", "node16")])
def test_typescript_finds_the_declarations(project, resolution, module):
    (project / "app.mts").write_text(PROGRAM)
    options = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--module", module, "--moduleResolution", resolution]
    result = subprocess.run(["tsc", *options, "app.mts"], cwd=project, capture_output=True, text=True)
    assert (result.stdout, result.returncode) == ("", 0)
