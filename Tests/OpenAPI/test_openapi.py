"""Checks that docs/openapi.json is valid, that the binary serves it, and that the server behaves as the document
says.
"""
import json
import pathlib
import re
import subprocess
import sys
import urllib.request

import jsonschema
import openapi_spec_validator
import pytest

from server import ROOT, Server

HERE = pathlib.Path(__file__).parent
TOKEN = "secret-of-the-controller"
DOCUMENT = json.loads((ROOT / "docs/openapi.json").read_text())
PHASES = ["examples", "coverage", "fuzzing", "stateful"]


class ExampleServer(Server):
    """A server with the examples' tables and sessions."""

    def __init__(self, *options, token=TOKEN):
        super().__init__("--deterministic", "--fixtures", ROOT / "Examples", *options, token=token)


@pytest.fixture(scope="module")
def runs():
    """Runs the phases of schemathesis at the same time, each with a separate server."""
    servers = [ExampleServer() for _ in PHASES]
    runs = {}
    for phase, server in zip(PHASES, servers):
        command = [
            sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run", server.url + "/openapi.json",
            "--header", "Authorization: Bearer " + TOKEN, "--phases", phase, "--suppress-health-check", "all", "--no-color",
        ]
        runs[phase] = subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    yield runs
    for run in runs.values():
        run.kill()
    for server in servers:
        server.stop()


@pytest.mark.parametrize("phase", PHASES)
def test_schemathesis_finds_nothing(runs, phase):
    output, _ = runs[phase].communicate(timeout=600)
    print(output)
    assert runs[phase].returncode == 0
    assert "No issues found" in output


def test_served_document():
    """The served document is the file, and is OpenAPI 3.1."""
    server = ExampleServer()
    with urllib.request.urlopen(server.url + "/openapi.json") as answer:
        document = json.load(answer)
    server.stop()
    assert document == DOCUMENT
    openapi_spec_validator.validate(document)


def references(value, keyword=None):
    """Yields every reference in the document. The second value says whether generators of clients read the reference:
    they ignore `then`.
    """
    for name, member in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []:
        inside = "then" if name == "then" else keyword
        if name == "$ref" and isinstance(member, str):
            yield member, inside is None
        yield from references(member, inside)


def test_references():
    """Every reference leads to a place in the file."""
    for reference, _ in references(DOCUMENT):
        value = DOCUMENT
        for name in reference.removeprefix("#/").split("/"):
            assert name in value, reference
            value = value[name]


def test_generators_of_clients_find_every_component():
    read = {reference for reference, is_read in references(DOCUMENT) if is_read}
    assert "#/components/schemas/TableDescription" in read
    assert [reference for reference in read if not re.fullmatch(r"#/components/\w+/\w+", reference)] == []


def test_schema_of_descriptions():
    """The document contains the schema of table descriptions."""
    check = subprocess.run([ROOT / "Scripts/inline-description-schema", "--check"], stderr=subprocess.PIPE, text=True)
    assert check.returncode == 0, check.stderr
    schema = json.loads((ROOT / "docs/table-description.schema.json").read_text())
    component = DOCUMENT["components"]["schemas"]["TableDescription"]
    assert set(component["then"]["$defs"]) == set(schema["$defs"])


def test_problem_pages():
    """The page of every problem is valid and so is its example."""
    server = Server()
    names = DOCUMENT["components"]["schemas"]["ProblemName"]["enum"]
    pages = {}
    for name in names:
        with urllib.request.urlopen(f"{server.url}/problems/{name}") as answer:
            pages[name] = json.load(answer)
    server.stop()
    schema = {"$ref": "#/components/schemas/ProblemExplanation", "components": DOCUMENT["components"]}
    validator = jsonschema.Draft202012Validator(schema)
    for name, page in pages.items():
        assert [f"{fault.json_path}: {fault.message}" for fault in validator.iter_errors(page)] == [], name
        members = ["type", "title", "status"]
        assert [page["example"][member] for member in members] == [page[member] for member in members], name
        for member in ["detail", "cause", "remedy"]:
            assert re.fullmatch(r"[A-Z`/].*\.", page[member]), f"{name}: {page[member]}"


def test_fault_codes():
    """The codes of faults are those of the document and of the declarations."""
    codes = DOCUMENT["components"]["schemas"]["FaultCode"]["enum"]
    page = (ROOT / "docs/http-api/error-codes.md").read_text().split("\n## Codes\n")[1].split("\n## ")[0]
    assert sorted(re.findall(r"^\| `([a-z-]+)` \|", page, re.M)) == codes
    declared = re.search(r"export type FaultCode =\n(.*?);", (ROOT / "Web/braid.d.ts").read_text(), re.S)[1]
    assert sorted(re.findall(r'"([a-z-]+)"', declared)) == codes
