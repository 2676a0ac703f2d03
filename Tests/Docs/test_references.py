"""Checks that the reference pages list exactly what the binary knows."""
import json
import re
import subprocess
import urllib.request

from documents import ROOT, Document, documents, rows, section
from matching import parsed
from terminal import BINARY

API, SESSIONS, FOLLOWING, UPDATES, DATA_SOURCE, ERRORS = (
    Document(ROOT / "docs/http-api" / f"{name}.md") for name in ["README", "sessions-and-snapshots", "following", "updates", "data-source", "errors-and-limits"])
OPERATIONS, LIMITS, MONITORING = (Document(ROOT / "docs" / f"{name}.md") for name in ["operations", "limits", "monitoring"])


def get(url):
    with urllib.request.urlopen(url) as answer:
        return answer.read().decode()


# MARK: Resources


def test_endpoints(url):
    """Every endpoint is documented, and every documented one exists."""
    paths = json.loads(get(url + "/openapi.json"))["paths"]
    there = {f"{method.upper()} {path}" for path, item in paths.items() for method in item if method != "parameters"}
    assert {cells[0].strip("`") for cells in rows(section(API, "All endpoints"))[1:]} == there


def test_sections_of_endpoints():
    """The section of each endpoint shows the method and path, the request if it may have a body, a command, and the
    answer.
    """
    for endpoint, link, _ in rows(section(API, "All endpoints"))[1:]:
        endpoint, (heading, page) = endpoint.strip("`"), re.fullmatch(r"\[(.*)\]\((.*)\.md#.*\)", link).groups()
        text = Document(ROOT / f"docs/http-api/{page}.md").text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
        assert f"`{endpoint}`" in text and "```sh\n" in text, endpoint
        assert endpoint.startswith(("GET", "DELETE")) or "**Request.**" in text, endpoint
        assert "**Answer" in text or re.search(r"```sh\n[^`]*```\n```(json|text)\n", text), endpoint


def test_data_source_calls(url):
    """Every call to the data source is documented."""
    calls = json.loads(get(url + "/openapi.json"))["components"]["schemas"]["DataSourceCall"]["properties"]
    told = {name for cells in rows(section(DATA_SOURCE, "Calls"))[1:] for name in re.findall(r"`([a-z][A-Za-z]+)`", cells[1])}
    assert told == set(calls)


def test_short_cells():
    """No cell of a table holds more than two sentences."""
    for path in [ROOT / "docs/concepts.md", *sorted((ROOT / "docs/http-api").glob("*.md"))]:
        for cells in rows(path.read_text(encoding="utf-8")):
            for cell in cells:
                assert len(re.findall(r"[.!?](?= |$)", re.sub(r"`[^`]*`", "x", cell))) <= 2, f"{path}: {cell}"


# MARK: Snapshots, updates, events


def test_shapes_of_answers(url):
    """The shapes shown are those of the answers."""
    schemas = json.loads(get(url + "/openapi.json"))["components"]["schemas"]
    [snapshot], [update] = (
        parsed(re.search(r"```json\n(.*?)```", section(document, heading), re.S)[1])
        for document, heading in [(SESSIONS, "The snapshot"), (UPDATES, "The update")])
    assert set(update) == set(schemas["Update"]["properties"])
    assert set(update["stages"][0]) == set(schemas["Stage"]["properties"])
    for operation, schema in [("updateSections", "SectionUpdate"), ("moveRows", "RowMove"), ("moveSections", "SectionMove"), ("insertRows", "PlacedRow"), ("insertSections", "PlacedSection")]:
        assert set(update["stages"][0][operation][0]) == set(schemas[schema]["properties"]), operation
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", section(SESSIONS, "The snapshot"))))) | {"height", "estimatedHeight"}
    for shown, schema in [(snapshot, "Snapshot"), (snapshot["sections"][0], "Section"), (snapshot["sections"][0]["rows"][0], "Row")]:
        known = set(schemas[schema]["properties"])
        assert set(shown) <= known and known - set(shown) <= words, schema


def test_the_events_of_a_stream_are_documented(url):
    def send(method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        urllib.request.urlopen(urllib.request.Request(url + path, data, {"Content-Type": "application/json"}, method=method)).close()

    table = {"table": "t", "cells": {"C": {"events": {"e": {}}}}, "bindings": [
        {"cell": "C", "models": [{"id": "1", "n": 0}], "onEvent": {"e": [{"update": {"merge": {"n": 1}}}, {"emit": {"name": "changed"}}]}}]}
    send("POST", "/v1/sessions", {"id": "followed", "table": table})
    stream = urllib.request.urlopen(urllib.request.Request(url + "/v1/sessions/followed/updates?presence", headers={"Accept": "text/event-stream"}), timeout=30)
    names = []
    while "presence" not in names:
        names += re.findall("^event: (.*)", stream.readline().decode())
    send("POST", "/v1/sessions/followed/events", {"at": {"id": "1"}, "event": {"e": {}}})
    send("POST", "/v1/sessions/followed/taps", {"at": {"id": "1"}})
    send("DELETE", "/v1/sessions/followed")
    names += re.findall("^event: (.*)", stream.read().decode(), re.M)
    told = [cells[0].strip("`") for cells in rows(section(FOLLOWING, "Event stream"))[1:]]
    assert sorted(told) == sorted(names)


# MARK: Options


def options(command):
    """Returns the options that `--help` lists, with their defaults: `{"port": "8080", "socket": None}`."""
    text = subprocess.run([BINARY, command, "--help"], capture_output=True, text=True, check=True).stdout
    entries = re.findall(r"^  --([a-z-]+)(.*(?:\n {26}.*)*)", text, re.M)
    defaults = {name: re.search(r"default: ([^)]*)\)", " ".join(entry.split())) for name, entry in entries if name != "version"}
    return {name: default and default[1] for name, default in defaults.items()}


UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "s": 1, "bytes": 1}


def value_told(text):
    """Returns a documented value, such as `32 KiB`, `1,000,000`, `10 s` or `full`, in the form that --help prints."""
    first = text.strip("` ").split(", ")[0]
    number = re.match(r"([\d,]+)(?: (\w+))?(?: a second)?$", first)
    return str(int(number[1].replace(",", "")) * UNITS[number[2] or ""]) if number else first


def test_every_option_is_documented_with_its_default():
    told = {}
    for cells in rows(section(OPERATIONS, "Options")) + rows(LIMITS.text):
        for name, default in re.findall(r"`--([a-z-]+)`(?: \(([^()]*)\))?", cells[0]):
            told[name] = told.get(name) or default
    known = options("serve")
    assert set(told) == set(known)
    for name, default in known.items():
        assert value_told(told[name]) == (default or ""), name


def test_unknown_options():
    """No document mentions an option that does not exist."""
    known = {name for command in ["serve", "check", "diff", "render", "replay", "backup", "health"] for name in options(command)} | {"help", "version"}
    # options of other programs
    others = {"braid-binary", "braid-image", "braid-url", "clean", "compressed", "dbname", "delay", "file", "filter", "format", "if-exists", "json", "list", "patience", "product", "retry-all-errors", "scenario", "server", "traits", "ulimit", "url"}
    for document in documents():
        for number, line in document.prose:
            for code in re.findall(r"`([^`]+)`", line):
                for name in re.findall(r"(?<![\w-])--([a-z][a-z-]+[a-z])(?!-?[\w…-])", code):
                    assert name in known | others, f"{document.name}:{number}: --{name}"


def test_unknown_variables():
    """No document mentions a variable that does not exist."""
    known = {"BRAID_" + name.upper().replace("-", "_") for name in options("serve")} | {"BRAID_TOKEN"}
    of_tests = {"BRAID_CRASHES", "BRAID_CRASH_SEED", "BRAID_CLUSTER_FAULTS", "BRAID_POWER_LOSSES", "BRAID_FUZZ_CORPUS", "BRAID_TEST_DATABASE"}
    of_tests |= {"BRAID_SERVER_BINARY", "BRAID_SERVER_IMAGE", "BRAID_SERVER_URL", "BRAID_SERVER_TOKEN"}
    for path in [ROOT / "README.md", ROOT / "Dockerfile", *ROOT.glob("compose*.yaml"), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "Examples").glob("*/README.md"))]:
        told = set(re.findall(r"\bBRAID_[A-Z_]+", path.read_text(encoding="utf-8")))
        assert told <= known | of_tests, f"{path}: {told - known - of_tests}"


def test_options_of_other_commands():
    """Commands that no test runs have options that exist."""
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

OF_THE_KITS = {"braid_testing", "braid_session", "braid_faults", "braid_fixtures", "braid_options"}


def test_metrics(exported):
    """Every metric is documented, and every documented one exists."""
    metrics = MONITORING.text.split("\n## Metrics\n")[1].split("\n## ")[0]
    told = {name for cells in rows(metrics) for name in re.findall(r"`((?:braid|process)_[a-z_]+)`", cells[0])}
    assert len(exported) > 30 and told == set(exported)
    for cells in rows(metrics):
        for name in re.findall(r"`((?:braid|process)_[a-z_]+)`", cells[0]):
            assert set(filter(None, cells[1].split(", "))) == exported[name], name
    for page in documents():
        used = set(re.findall(r"\b(?:braid|process)_[a-z_]+\b(?!\*)", page.text))
        names = {re.sub(r"_(bucket|sum|count)$", "", name) for name in used if not name.endswith("_")}
        assert names - set(exported) <= {"braid_server", "braid_test", "braid_token", "braid_port"} | OF_THE_KITS, page.name


# MARK: Problems


def test_every_problem_is_documented_with_its_status(url):
    problems = json.loads(get(url + "/openapi.json"))["components"]["schemas"]["ProblemName"]["enum"]
    told = {cells[1].strip("`"): int(cells[0]) for cells in rows(section(ERRORS, "Problems"))[1:]}
    assert sorted(told) == sorted(problems)
    for name, status in told.items():
        assert json.loads(get(f"{url}/problems/{name}"))["status"] == status, name


def test_unknown_problems(url):
    """No document mentions a problem that does not exist."""
    problems = set(json.loads(get(url + "/openapi.json"))["components"]["schemas"]["ProblemName"]["enum"])
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "Examples").glob("*/README.md"))]:
        text = path.read_text(encoding="utf-8")
        told = re.findall(r"/problems/([a-z-]+)", text) + re.findall(r"\b4\d\d `([a-z-]+)`", text) + re.findall(r"# 4\d\d ([a-z-]+)", text)
        assert set(told) <= problems, path
