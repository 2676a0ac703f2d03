"""Checks that the documents are true: every block is run, compared or checked, or has a mark that says why it is not.
"""
import configparser
import json
import re
import subprocess
import urllib.request

import jsonschema
import pytest
import yaml

from documents import ROOT, documents, is_part
from matching import documents as json_documents, json_matches, parsed, text_matches
from server import free_port, wait_until
from terminal import BINARY, Terminal

DOCUMENTS = documents()
README, *PAGES = DOCUMENTS
STARTS = re.compile(r"^(\w+=\S+ )*\./run|braid-server serve", re.M)
OUTPUTS = {"json": json_matches, "text": text_matches}


def each(documents):
    return pytest.mark.parametrize("document", documents, ids=lambda document: document.name.replace("/", "-"))


EACH = each(DOCUMENTS)


def place(document, block):
    return f"{document.name}:{block.line}"


@pytest.fixture(scope="module")
def readme(tmp_path_factory):
    """The terminal in which README.md has started its server. Pages that start none go on with that."""
    terminal = Terminal(tmp_path_factory.mktemp("readme"), free_port())
    terminal.run("./run\n")
    follow(README, README.blocks, terminal)
    yield terminal
    terminal.close()


@pytest.fixture
def terminal(document, readme, tmp_path):
    commands = [block.text for block in document.of("sh") if is_typed(block)]
    starts = any(STARTS.search(text) for text in commands)
    terminal = Terminal(tmp_path, free_port() if starts else readme.port)
    if not starts:
        (terminal.home / "data").symlink_to(readme.home / "data")
    elif not STARTS.search(next(text for text in commands if STARTS.search(text) or "127.0.0.1:8080" in text)):
        terminal.run("./run\n")
    yield terminal
    terminal.close()


def is_typed(block):
    return not block.marks.keys() & {"not run", "run by"}


def is_output(block):
    """Returns whether a block shows the output of commands. Such a block is directly behind the block with the
    commands.
    """
    return block.language in OUTPUTS and not block.marks and block.before is not None and block.before.language == "sh" and is_typed(block.before)


def refusals_told(text, shown):
    """Returns the statuses of refusals that the document mentions: as `# 403 editing-not-allowed`, or in the answer
    that it shows.
    """
    if '"example": {' in shown:  # the answer is the page of a problem, which is not a refusal
        shown = ""
    told = re.findall(r"# ([45]\d\d)\b", text)
    return [int(status) for status in told or re.findall(r'"status": ?([45]\d\d)(?=[^}]*"instance")', shown)]


@each(PAGES)
def test_every_command_does_what_the_document_says(document, terminal):
    follow(document, document.blocks, terminal)


def follow(document, blocks, terminal):
    """Runs these blocks of a document, and compares their output with the blocks that show it."""
    for block in blocks:
        where = place(document, block)
        if name := block.marks.get("file"):
            terminal.save(name, block.text)
        elif "in the other terminal" in block.marks:
            told_within_seconds(terminal, block, whole=False, where=where)
        elif block.language == "sh" and is_typed(block):
            shown = next((other for other in document.blocks if other.before is block and is_output(other)), None)
            try:
                output, statuses = terminal.run(block.text)
            except AssertionError as error:
                raise AssertionError(f"{where}: {error}") from None
            told = refusals_told(block.text, shown.text if shown else "")
            assert [status for status in statuses if status >= 400] == told, f"{where}: {statuses}\n{output}\n{terminal.log()}"
            for name in re.findall(r"# [45]\d\d ([a-z][a-z-]+)", block.text):
                assert f"/problems/{name}" in output, f"{where}: {output}"
            if shown and re.search(r"curl .*\s-\w*N\s", block.text):
                told_within_seconds(terminal, shown, whole=True, where=where)
            elif shown:
                assert OUTPUTS[shown.language](shown.text, output), f"{where}: it prints\n{output}\nand not\n{shown.text}"


def told_within_seconds(terminal, block, whole, where):
    try:
        wait_until(lambda: text_matches(block.text, terminal.stream(), whole))
    except AssertionError:
        raise AssertionError(f"{where}: the stream has\n{terminal.stream()}\nand not\n{block.text}") from None


@pytest.fixture(scope="module")
def schemas(url):
    """The schemas in openapi.json, as the binary serves it."""
    with urllib.request.urlopen(url + "/openapi.json") as answer:
        return json.load(answer)["components"]


@EACH
def test_every_json_is_what_it_should_be(document, schemas, tmp_path):
    for block in document.of("json"):
        where = place(document, block)
        if is_output(block):
            continue
        try:
            values = parsed(block.text)
        except json.JSONDecodeError as error:
            raise AssertionError(f"{where}: no JSON: {error}") from None
        if name := block.marks.get("part of"):
            [saved] = [json.loads(other.text) for other in document.blocks if other.marks.get("file") == name]
            assert all(value and is_part(value, saved) for value in values), f"{where}: not a part of {name}"
        for value in values:
            if isinstance(value, dict) and isinstance(value.get("table"), str) and "bindings" in value:
                path = tmp_path / "described.table.json"
                path.write_text(block.text, encoding="utf-8")
                check = subprocess.run([BINARY, "check", path], capture_output=True, text=True)
                assert check.returncode == 0, f"{where}: {check.stdout}{check.stderr}"
            if name := block.marks.get("schema"):
                reference = {"$ref": f"#/components/schemas/{name}", "components": schemas}
                faults = [f"{fault.json_path}: {fault.message[:300]}" for fault in jsonschema.Draft202012Validator(reference).iter_errors(value)]
                assert not faults, f"{where}: no {name}: {faults}"


# These functions check that a block is valid in its language, whatever the block's marks are.
def is_python(text):
    compile(text, "block", "exec")


def is_ini(text):
    configparser.ConfigParser(strict=True).read_string(text)


PARSERS = {
    "python": is_python, "ini": is_ini, "yaml": yaml.safe_load,
    "sh": lambda text: subprocess.run(["bash", "-n"], input=text, text=True, check=True),
}


@EACH
def test_every_block_is_checked_or_says_why_not(document):
    assert not document.unknown, "\n".join(document.unknown)
    for block in document.blocks:
        where = place(document, block)
        assert block.language, f"{where}: no language"
        if block.language in PARSERS:
            PARSERS[block.language](block.text)
        for mark in ["copy of", "run by"]:
            if path := block.marks.get(mark):
                assert (ROOT / path).is_file(), f"{where}: there is no {path}"
        if path := block.marks.get("copy of"):
            assert flattened(block.text) in flattened((ROOT / path).read_text(encoding="utf-8")), f"{where}: not a part of {path}"
        if path := block.marks.get("run by"):
            assert document.path.name in (ROOT / path).read_text(encoding="utf-8"), f"{where}: {path} does not name {document.path.name}"
        if "not run" in block.marks:
            assert len(block.marks["not run"]) > 5, f"{where}: why not?"
        elif block.language not in ["sh", "json", "text"]:
            assert block.marks, f"{where}: nothing checks this {block.language}: say what it is (see documents.py)"


def flattened(text):
    """Returns the text without the indentation of its lines."""
    return "\n".join(line.strip() for line in text.strip().split("\n"))


def test_run_is_what_stands_in_for_it():
    real, stand_in = (ROOT / "run").read_text(), (ROOT / "Tests/Docs/bin/checkout/run").read_text()
    options = "--database data/braid.sqlite --fixtures Examples"
    assert options in real and options in stand_in


def test_a_part_of_a_file_is_looked_for():
    assert is_part({"a": 1}, {"b": [{"a": 1, "c": 2}]}) and is_part({"b": [{}]}, {"b": [{}]})
    assert not is_part({"a": 1}, {"b": [{"a": 2}]}) and not is_part({"a": 1, "b": 1}, [{"a": 1}, {"b": 1}])


def test_what_is_shown_is_compared():
    assert json_matches('{"a": 1, "b": "…", "c": […], …}', '{"a":1,"b":"x","c":[2,3],"d":{}}\n')
    assert json_matches('{"a": {…}}\n{"b": …}', '{"a":{"x":1}}{"b":[{}]}')
    for shown, found in [('{"a": 1}', '{"a":2}'), ('{"a": 1}', '{"a":1,"b":2}'), ('{"a": 1, "b": 2}', '{"b":2,"a":1}'), ('{"a": "…"}', '{"a":[1]}')]:
        assert not json_matches(shown, found)
    assert text_matches("id: …\n…\nend", "id: 7\nx\ny\nend\n") and not text_matches("a…c", "a\nc")
    assert parsed('{"row"?: {…}, "x": …}') == [{"row": {"……": "……"}, "x": "……"}]
    assert json_documents('{"a":1}{"b":2}') == [{"a": 1}, {"b": 2}]
