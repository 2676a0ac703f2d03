"""Checks that a generator of clients understands docs/openapi.json: the tests call every operation through the
generated client, with the examples of the document.
"""
import importlib
import io
import json
import re
import subprocess
import sys
import typing
import urllib.request

import jsonschema
import pytest

from server import ROOT, Server
from test_openapi import DOCUMENT, HERE, TOKEN

METHODS = ["get", "put", "post", "patch", "delete"]
OPERATIONS = {
    operation["operationId"]: (path, item, operation)
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
    if method in METHODS
}
PARTY = {"table": "attendees", "models": {"attending": [{"name": "Jonathan"}, {"name": "Omar"}], "invited": [{"name": "Yvonne"}]}}
LIST = {"sections": [{"id": "open", "rows": [{"id": "milk", "title": "Milk"}, {"id": "bread"}]}, {"id": "done", "rows": []}]}
# The sessions that the examples of these operations need. The examples of all other operations need a session with the
# table `attendees`.
SESSIONS = {"sendEvent": {"table": "form"}, "displayRows": {"table": "news"}}


def resolved(value):
    while "$ref" in value:
        target = DOCUMENT
        for name in value["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        value = target
    return value


def snake(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def examples(operation):
    """Yields each example of the request's body and of the answers, with its schema."""
    for part in [operation.get("requestBody", {}), *operation["responses"].values()]:
        for media_type, content in resolved(part).get("content", {}).items():
            if "example" in content:
                yield media_type, content["example"], content.get("schema", {})


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generated")
    run = subprocess.run(
        [sys.executable, "-m", "openapi_python_client", "generate", "--path", ROOT / "docs/openapi.json", "--meta", "none",
         "--output-path", folder / "braid_generated", "--config", HERE / "client.yaml"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert run.returncode == 0, run.stdout
    # The generator prints a warning for each part of the document that it does not understand and leaves out.
    assert "WARNING" not in run.stdout, run.stdout
    sys.path.insert(0, str(folder))
    yield importlib.import_module("braid_generated.client")
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def servers():
    """Two servers, because some resources exist only with one of two options. The keys are the options."""
    servers = {option: Server("--deterministic", "--fixtures", ROOT / "Examples", option, token=TOKEN) for option in ["--watch", "--test-mode"]}
    yield servers
    for server in servers.values():
        server.stop()


def body(hint, value):
    """Converts a JSON value to the type that a function of the generated client accepts."""
    for kind in typing.get_args(hint) or [hint]:
        if hasattr(kind, "from_dict") and isinstance(value, dict):
            try:
                made = kind.from_dict(value)
            except (KeyError, TypeError, ValueError):
                continue
            if made.to_dict() == value:
                return made
    return value


def ask(server, method, path, value):
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    request = urllib.request.Request(server.url + path, json.dumps(value).encode(), headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_generated_client_calls_the_operation(client, servers, name):
    path, item, operation = OPERATIONS[name]
    server = servers["--test-mode" if operation["tags"] == ["Test mode"] else "--watch"]
    session = f"generated-{snake(name)}".replace("_", "-")
    values = {}
    if "{id}" in path:
        opening = SESSIONS.get(name, LIST if "Data source" in operation["tags"] else PARTY)
        ask(server, "POST", "/v1/sessions", {"id": session, **opening})
        values["id"] = session
    for parameter in map(resolved, item.get("parameters", []) + operation["parameters"]):
        if parameter["in"] == "path":
            values.setdefault(parameter["name"], parameter["example"])
    if name == "deleteTable":
        values["table"] = "unused"
        ask(server, "PUT", "/v1/tables/unused", {"table": "unused", "cells": {"C": {}}, "bindings": [{"cell": "C"}]})
    elif name == "putTable":
        values["table"] = "notes"
    elif name == "revokeToken":
        values["token"] = ask(server, "POST", f"/v1/sessions/{session}/tokens", {"role": "viewer", "expiresIn": 60})["tokenId"]
    elif name == "revokeServerToken":
        values["token"] = ask(server, "POST", "/v1/tokens", {"role": "viewer", "expiresIn": 60})["tokenId"]
    elif name == "getUpdates":
        values["since"] = "0"
    function = importlib.import_module(f"braid_generated.api.{snake(operation['tags'][0]).replace(' ', '_')}.{snake(name)}").sync_detailed
    arguments = {snake(key): value for key, value in values.items()}
    content = operation.get("requestBody", {}).get("content", {})
    if content:
        media_type, example = next((key, value["example"]) for key, value in content.items() if "example" in value)
        if media_type == "application/x-ndjson":
            file = importlib.import_module("braid_generated.types").File
            arguments["body"] = file(payload=io.BytesIO(example.encode()))
        else:
            arguments["body"] = body(typing.get_type_hints(function)["body"], example)
    with client.AuthenticatedClient(base_url=server.url, token=TOKEN) as connection:
        answer = function(client=connection, **arguments)
    assert 200 <= answer.status_code < 300, answer.content
    declared = resolved(operation["responses"][str(int(answer.status_code))])
    assert (answer.parsed is not None) == ("content" in declared)


def test_operations():
    """Every operation has a description and examples that are true."""
    for name, (path, item, operation) in OPERATIONS.items():
        assert re.fullmatch(r"[A-Z`].*\.", operation["description"], re.S), name
        found = list(examples(operation))
        parameters = [resolved(parameter) for parameter in item.get("parameters", [])]
        contents = [part for status, part in operation["responses"].items() if status[0] == "2" and "content" in resolved(part)]
        assert found or any("example" in parameter for parameter in parameters) or not contents, name
        for media_type, example, schema in found:
            if "json" in media_type and not media_type.endswith("ndjson"):
                validator = jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]})
                assert [f"{fault.json_path}: {fault.message}" for fault in validator.iter_errors(example)] == [], name
        if "requestBody" in operation:
            assert any("example" in content for content in operation["requestBody"]["content"].values()), name


def test_the_document_is_self_contained():
    text = json.dumps(DOCUMENT)
    assert [reference for reference in re.findall(r'"\$ref": "([^"]*)"', text) if not reference.startswith("#/")] == []
