"""Tells schemathesis what it cannot read from docs/openapi.json."""
import json

import schemathesis
from hypothesis import strategies as st

# Bodies that are lines of JSON.
LINES = st.lists(st.dictionaries(st.text(max_size=3), st.lists(st.integers(), max_size=2), max_size=2), max_size=3)
schemathesis.openapi.media_type("application/x-ndjson", LINES.map(lambda lines: "".join(json.dumps(line) + "\n" for line in lines).encode()))


@schemathesis.hook
def before_load_schema(context, raw_schema):
    # Schemathesis cannot send an example that is not JSON, so these examples are removed.
    for item in raw_schema["paths"].values():
        lines = item.get("post", {}).get("requestBody", {}).get("content", {}).get("application/x-ndjson", {})
        lines.pop("example", None)
    # The resources of the test mode exist only with `--test-mode`. They would make other requests of the run fail, so
    # they are removed.
    raw_schema["paths"] = {path: item for path, item in raw_schema["paths"].items() if not path.startswith("/v1/test/")}
    # Other tests check the format of table descriptions. Generating descriptions from the whole schema would take
    # minutes, so a small schema replaces it.
    raw_schema["components"]["schemas"]["TableDescription"] = {
        "type": "object",
        "properties": {"table": {"type": "string"}, "bindings": {"type": "array", "items": {"type": "object"}}},
        "required": ["table", "bindings"],
    }


@schemathesis.hook
def before_call(context, case, kwargs):
    # The server may let a long poll wait for a minute, which is too long for a test.
    wait = str(case.query.get("wait", ""))
    if wait.isdigit() and 1 < int(wait) <= 60:
        case.query["wait"] = 1
