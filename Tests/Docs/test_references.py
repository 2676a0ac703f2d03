"""Whether the reference pages say what the binary knows, and nothing else."""
import json
import re
import subprocess
import urllib.request

import pytest

from documents import ROOT, Document, documents
from terminal import BINARY

API, OPERATIONS, DESCRIPTION = (Document(ROOT / "docs" / name) for name in ["http-api.md", "operations.md", "table-description.md"])


def section(document, heading):
    """The text under a heading, down to the next one of its kind."""
    return re.split(r"^#+ ", document.text.split(f"\n## {heading}\n")[1], maxsplit=1, flags=re.M)[0]


def rows(text):
    """The cells of the tables in a text, without their first two lines."""
    lines = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.split("\n") if line.startswith("|")]
    return [cells for cells in lines if not set("".join(cells)) <= set("-: ")]


@pytest.fixture(scope="module")
def url():
    command = [BINARY, "serve", "--port", "0", "--database", ":memory:", "--log-level", "error"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    yield process.stdout.readline().removeprefix("listening on ").strip()
    process.terminate()
    process.wait(timeout=15)


def get(url):
    with urllib.request.urlopen(url) as answer:
        return answer.read().decode()


# MARK: Resources


def resources_told():
    """What the tables of resources list: a name without a method or a path has those of the one before it."""
    told = set()
    for cells in rows(section(API, "Resources")):
        methods, path = [], ""
        for part in cells[0].replace("`", "").split(" · "):
            words = part.split()
            if re.fullmatch("[A-Z/]+", words[0]):
                methods = words[0].split("/")
            if words[-1].startswith("/") or any(letter.islower() for letter in words[-1]):
                name = words[-1].split("?")[0]
                path = name if name.startswith("/") else path.rpartition("/")[0] + "/" + name
            told |= {f"{method} {path}" for method in methods}
    for cells in rows(API.text.split("## The data source")[1].split("\n#")[0]):
        for method, path in re.findall(r"`([A-Z]+) …(/[^ `]+)", cells[1]):
            told.add(f"{method} /v1/sessions/{{id}}{path.replace('{s}', '{section}').replace('{r}', '{row}')}")
    return told


def test_every_resource_is_documented_and_every_documented_one_is_there(url):
    paths = json.loads(get(url + "/openapi.json"))["paths"]
    there = {f"{method.upper()} {path}" for path, item in paths.items() for method in item if method != "parameters"}
    assert resources_told() - {"GET /"} == there - {"GET /"}  # not in this version yet


def test_every_call_to_the_data_source_is_documented(url):
    calls = json.loads(get(url + "/openapi.json"))["components"]["schemas"]["DataSourceCall"]["properties"]
    told = {name for cells in rows(API.text.split("## The data source")[1].split("\n#")[0])[1:] for name in re.findall(r"`([a-z][A-Za-z]+)`", cells[3])}
    assert told - {"modelType"} == set(calls)


# MARK: Options


def options(command):
    dump = json.loads(subprocess.run([BINARY, command, "--experimental-dump-help"], capture_output=True, check=True).stdout)["command"]
    return {argument["preferredName"]["name"]: argument for argument in dump["arguments"] if "preferredName" in argument}


UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "s": 1, "bytes": 1}


def value_told(text):
    """`32 KiB`, `1,000,000`, `10 s`, `full`: what --help says as a plain value."""
    first = text.strip("` ").split(", ")[0]
    number = re.match(r"([\d,]+)(?: (\w+))?(?: a second)?$", first)
    return str(int(number[1].replace(",", "")) * UNITS[number[2] or ""]) if number else first


def test_every_option_is_documented_with_its_default():
    told = {}
    for cells in rows(section(OPERATIONS, "Options")) + rows(section(API, "Limits")):
        for name, default in re.findall(r"`--([a-z-]+)`(?: \(([^()]*)\))?", cells[0]):
            told[name] = told.get(name) or default
    known = {name: argument for name, argument in options("serve").items() if name not in ["help", "version"]}
    assert set(told) == set(known)
    for name, argument in known.items():
        assert value_told(told[name]) == (argument.get("defaultValue") or ""), name


def test_no_document_tells_of_an_option_that_is_none():
    known = {name for command in ["serve", "check", "diff", "render", "replay", "backup", "health"] for name in options(command)}
    others = {"filter", "format", "ulimit"}  # of other programs
    for document in documents():
        for number, line in document.prose:
            for code in re.findall(r"`([^`]+)`", line):
                for name in re.findall(r"(?<![\w-])--([a-z][a-z-]+[a-z])(?!-?[\w…-])", code):
                    assert name in known | others, f"{document.name}:{number}: --{name}"


def test_no_document_tells_of_a_variable_that_is_none():
    known = {"BRAID_" + name.upper().replace("-", "_") for name in options("serve")} | {"BRAID_TOKEN", "BRAID_SERVER_BINARY"}
    of_tests = {"BRAID_CRASHES", "BRAID_CRASH_SEED", "BRAID_POWER_LOSSES", "BRAID_FUZZ_CORPUS"}
    for path in [ROOT / "README.md", ROOT / "Dockerfile", ROOT / "compose.yaml", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "Examples").glob("*/README.md"))]:
        told = set(re.findall(r"\bBRAID_[A-Z_]+", path.read_text(encoding="utf-8")))
        assert told <= known | of_tests, f"{path}: {told - known - of_tests}"


def test_commands_that_no_test_types_have_options_that_are_there():
    known = options("serve")
    for document in documents():
        for block in document.blocks:
            if block.language != "sh" or "not run" in block.marks:
                for command in re.findall(r"braid-server serve (.*)", block.text):
                    assert set(re.findall(r"--([a-z-]+)", command)) <= set(known), f"{document.name}:{block.line}"


def test_every_command_is_documented():
    described = {line.split()[0] for line in subprocess.run([BINARY, "--help"], capture_output=True, text=True, check=True).stdout.split("SUBCOMMANDS:")[1].splitlines() if line.startswith("  ") and line[2] != " "}
    told = set(re.findall(r"^\| `braid-server ([a-z]+)", section(OPERATIONS, "Commands"), re.M))
    assert told == described - {"help", "See"}


# MARK: Metrics


def test_every_metric_is_documented_and_every_documented_one_is_there(url):
    there = {line.split()[2] for line in get(url + "/metrics").splitlines() if line.startswith("# TYPE ")}
    told = {name for cells in rows(section(OPERATIONS, "Metrics")) for name in re.findall(r"`([a-z_]+)`", cells[0])}
    assert len(there) > 20 and told == there
    used = set(re.findall(r"\b(?:braid|process)_[a-z_]+\b", OPERATIONS.text)) - {"process_"}
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in used} <= there


# MARK: Problems


def test_every_problem_is_documented_with_its_status(url):
    problems = json.loads(get(url + "/openapi.json"))["components"]["schemas"]["ProblemName"]["enum"]
    told = {}
    for cells in rows(API.text.split("## Errors")[1]):
        statuses = [int(status) for status in re.findall(r"\d{3}", cells[0])]
        parts = cells[1].split(" / ") if len(statuses) > 1 else [cells[1]]
        if statuses:
            assert len(parts) == len(statuses), cells
            for status, part in zip(statuses, parts):
                told |= {name: status for name in re.findall(r"`([a-z][a-z-]+)`", part) if name in problems}
    assert sorted(told) == sorted(problems)
    for name, status in told.items():
        assert json.loads(get(f"{url}/problems/{name}"))["status"] == status, name


def test_no_document_tells_of_a_problem_that_is_none(url):
    problems = set(json.loads(get(url + "/openapi.json"))["components"]["schemas"]["ProblemName"]["enum"])
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "Examples").glob("*/README.md"))]:
        text = path.read_text(encoding="utf-8")
        told = re.findall(r"/problems/([a-z-]+)", text) + re.findall(r"\b4\d\d `([a-z-]+)`", text) + re.findall(r"# 4\d\d ([a-z-]+)", text)
        assert set(told) <= problems, path


# MARK: The description

# Each object of the format, with a member that it does not know.
UNKNOWN = {
    "table": "t", "zz": 1, "sections": ["a", "b"], "cells": {"C": {"zz": 1}}, "modelTypes": {"M": {"zz": 1}},
    "sectionDisplay": {"behavior": "hidesSectionsWithNoData", "order": {"by": "section.id", "zz": 1}, "zz": 1},
    "bindings": [{
        "zz": 1, "on": {"sections": ["a", "b"], "zz": 1}, "cell": "C", "models": {}, "header": {"view": "V", "zz": 1}, "dimensions": {"zz": 1},
        "editing": "insert", "insert": {"template": {}, "zz": 1}, "moving": {"to": {"passing": "true", "zz": 1}, "zz": 1}, "prefetch": {"cellsFromEnd": 1, "zz": 1},
        "onTap": [
            {"zz": 1, "if": "true", "do": []}, {"insert": {"section": "a", "model": {}, "zz": 1}}, {"remove": {"id": "1", "zz": 1}}, {"update": {"merge": {}, "zz": 1}},
            {"replace": {"id": "1", "model": {}, "zz": 1}}, {"move": {"id": "1", "to": {"section": "a", "row": 0, "zz": 1}, "zz": 1}},
        ],
    }, {"on": {"section": "b"}, "cell": {"byModelType": True, "zz": 1}}],
}


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """What the binary knows: by the JSON Pointer of an object, its members."""
    path = tmp_path_factory.mktemp("known") / "unknown.table.json"
    path.write_text(json.dumps(UNKNOWN))
    faults = subprocess.run([BINARY, "check", path], capture_output=True, text=True).stdout
    return {pointer: set(re.findall(r"`(\w+)`", members)) for pointer, members in re.findall(r": (\S*)/zz: .* has no member `zz`; it may have (.*)", faults)}


SCHEMA = json.loads((ROOT / "docs/table-description.schema.json").read_text())


def parts(schema):
    """A schema, and all that it is made of."""
    if isinstance(schema, dict):
        yield schema
        if "$ref" in schema:
            yield from parts(SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")])
        for name in ["anyOf", "oneOf", "allOf", "if", "then", "else"]:
            for part in schema.get(name, []) if name.endswith("Of") else [schema.get(name)]:
                yield from parts(part)


def inside(schema, token):
    for part in parts(schema):
        if token in part.get("properties", {}):
            yield part["properties"][token]
        elif token.isdigit():
            yield part.get("items")
        elif isinstance(part.get("additionalProperties"), dict):
            yield part["additionalProperties"]


def test_the_schema_for_editors_knows_the_members_that_the_binary_knows(known):
    assert len(known) >= 20
    for pointer, members in known.items():
        schemas = [SCHEMA]
        for token in pointer.split("/")[1:]:
            schemas = [inner for schema in schemas for inner in inside(schema, token) if inner is not None]
        told = {name for schema in schemas for part in parts(schema) for name, value in part.get("properties", {}).items() if value is not False}
        assert told - {"$schema", "$comment"} == members, pointer


def test_the_page_of_the_description_has_every_member(known):
    code = " ".join([span for _, line in DESCRIPTION.prose for span in re.findall(r"`([^`]+)`", line)] + [block.text for block in DESCRIPTION.blocks])
    words = set(re.findall(r"\w+", code))
    for pointer, members in known.items():
        assert members <= words, f"{pointer}: {members - words}"


def test_the_page_of_the_description_has_no_other_members(known):
    top = {name for cells in rows(section(DESCRIPTION, "Top level"))[1:] for name in re.findall(r"`(\w+)`", cells[0])}
    assert top == known[""]
    actions = {name for cells in rows(section(DESCRIPTION, "Handlers"))[1:] for name in re.findall(r"`\{\"(\w+)\"", cells[0])}
    assert actions | {"if", "do", "else"} == known["/bindings/0/onTap/0"]
    dimensions = set(re.findall(r"`(\w+)`", section(DESCRIPTION, "Dimensions: `dimensions`").split(":")[0]))
    assert dimensions == known["/bindings/0/dimensions"]
    for name in re.findall(r"`\"(\w+)\":", DESCRIPTION.text):
        assert any(name in members for members in known.values()) or name in ["byModelType"], name
