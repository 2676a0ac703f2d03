"""Checks that docs/table-description.md, docs/own-tables.md, docs/handlers.md and the JSON schema for editors list exactly
the members that the binary knows.
"""
import json
import re
import subprocess
import sys

import pytest

from documents import ROOT, Document, rows, section
from terminal import BINARY

DESCRIPTION = Document(ROOT / "docs/table-description.md")
OWN_TABLES = Document(ROOT / "docs/own-tables.md")
HANDLERS = Document(ROOT / "docs/handlers.md")
PAGES = [DESCRIPTION, OWN_TABLES, HANDLERS]

# A description whose objects have an unknown member, `zz`.
UNKNOWN = {
    "table": "t", "zz": 1, "sections": ["a", "b"], "cells": {"C": {"zz": 1}}, "modelTypes": {"M": {"zz": 1}},
    "sectionDisplay": {"behavior": "hidesSectionsWithNoData", "order": {"by": "section", "zz": 1}, "zz": 1},
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
    """The members that the binary knows, by the JSON Pointer of the object that contains them."""
    path = tmp_path_factory.mktemp("known") / "unknown.table.json"
    path.write_text(json.dumps(UNKNOWN))
    faults = subprocess.run([BINARY, "check", path], capture_output=True, text=True).stdout
    return {pointer: set(re.findall(r"`(\w+)`", members)) for pointer, members in re.findall(r": (\S*)/zz: .* has no member `zz`; it may have (.*)", faults)}


SCHEMA = json.loads((ROOT / "docs/table-description.schema.json").read_text())


def parts(schema):
    """Yields a schema and all schemas that it refers to or combines."""
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


def test_schema_members(known):
    """The schema for editors knows the members that the binary knows."""
    assert len(known) >= 20
    for pointer, members in known.items():
        schemas = [SCHEMA]
        for token in pointer.split("/")[1:]:
            schemas = [inner for schema in schemas for inner in inside(schema, token) if inner is not None]
        told = {name for schema in schemas for part in parts(schema) for name, value in part.get("properties", {}).items() if value is not False}
        assert told - {"$schema", "$comment"} == members, pointer


def test_the_schema_for_editors_agrees_with_the_checker():
    """Compares the schema with Tests/Descriptions. Other tests compare the server's checker with the same files."""
    subprocess.run([sys.executable, ROOT / "Tests/Oracles/description_schema.py", ROOT], check=True)


def test_the_pages_of_the_description_have_every_member(known):
    spans = [span for page in PAGES for _, line in page.prose for span in re.findall(r"`([^`]+)`", line)]
    code = " ".join(spans + [block.text for page in PAGES for block in page.blocks])
    words = set(re.findall(r"\w+", code))
    for pointer, members in known.items():
        assert members <= words, f"{pointer}: {members - words}"


def test_no_other_members(known):
    """The pages list no other members."""
    top = {name for cells in rows(section(DESCRIPTION, "Top level"))[1:] for name in re.findall(r"`(\w+)`", cells[0])}
    assert top == known[""]
    actions = {name for cells in rows(section(HANDLERS, "Actions"))[1:] for name in re.findall(r"`\{\"(\w+)\"", cells[0])}
    assert actions | {"if", "do", "else"} == known["/bindings/0/onTap/0"]
    dimensions = set(re.findall(r"`(\w+)`", DESCRIPTION.text.split("\n### Dimensions: `dimensions`\n")[1].split(":")[0]))
    assert dimensions == known["/bindings/0/dimensions"]
    for name in re.findall(r"`\"(\w+)\":", DESCRIPTION.text + HANDLERS.text):
        assert any(name in members for members in known.values()) or name in ["byModelType"], name


# The cells and the state that the examples of single members may use.
CELLS = {"ItemCell": {}, "LabelCell": {}, "StarCell": {}, "SwitchCell": {"events": {"switched": {"properties": {"isOn": {"type": "boolean"}}}}}}
STATE = {"query": "", "stars": 3, "isOn": False, "selected": "", "wantedFrom": 0}


def description_with(example, members):
    """Returns a complete description around an example. The example is a binding, or contains members of the top level.
    """
    described = {"table": "t", "sections": ["open", "done"], "cells": CELLS, "modelTypes": {"Item": {}}, "state": STATE}
    if "on" not in example:
        assert set(example) <= members, f"neither a binding nor members of the top level: {set(example) - members}"
        bound = {"on": "allOtherSections", "cell": {"byModelType": True}, "models": {}}
        return described | {"bindings": [bound]} | example
    bindings = [example]
    if not {"cell", "cellProvider"} & set(example):
        bindings.append({"on": "allOtherSections", "cell": "ItemCell", "modelType": "Item", "models": {"open": [{"id": "1"}]}})
    elif example["on"] != "allOtherSections":
        bindings.append({"on": "allOtherSections", "cell": "ItemCell", "models": {}})
    return described | {"bindings": bindings}


EXAMPLES = [block for page in PAGES for block in page.of("json") if not block.marks and (block.before is None or block.before.language != "sh")]


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: str(block.line))
def test_every_example_of_the_pages_is_valid(block, known, tmp_path):
    path = tmp_path / "example.table.json"
    path.write_text(json.dumps(description_with(json.loads(block.text), known[""])))
    check = subprocess.run([BINARY, "check", path], capture_output=True, text=True)
    assert check.returncode == 0 and not check.stdout, f"{block.text}\n{check.stdout}{check.stderr}"


def test_every_member_has_an_example(known):
    assert len(EXAMPLES) >= 20
    shown = " ".join(block.text for page in PAGES for block in page.of("json"))
    for pointer in ["", "/bindings/0", "/cells/C", "/modelTypes/M", "/sectionDisplay"]:
        missing = {name for name in known[pointer] if f'"{name}":' not in shown}
        assert not missing, f"{pointer}: {missing}"
