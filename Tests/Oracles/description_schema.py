"""Compares docs/table-description.schema.json with Tests/Descriptions and the examples. Uses the package jsonschema
from PyPI.

The schema must accept every valid description. It must refuse exactly those invalid descriptions that are marked
with `bySchema`. Usage: description_schema.py [the repository's root]. Exit status 1 on any disagreement.
"""
import json
import sys
from pathlib import Path

from jsonschema import Draft202012Validator

root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


schema = read(root / "docs/table-description.schema.json")
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)
disagreements = 0


def disagree(path, message):
    global disagreements
    disagreements += 1
    print(f"{path.relative_to(root)}: {message}")


valid = sorted((root / "Tests/Descriptions/valid").glob("*.json"))
invalid = sorted((root / "Tests/Descriptions/invalid").glob("*.json"))
examples = sorted((root / "Examples").glob("**/*.table.json"))
for path in valid + examples:
    for error in validator.iter_errors(read(path)):
        disagree(path, f"the schema refuses it at {error.json_path}: {error.message[:300]}")
for path in invalid:
    case = read(path)
    if sorted(case) != ["bySchema", "description", "pointers", "why"]:
        disagree(path, "a case has `why`, `pointers`, `bySchema` and `description`")
    elif validator.is_valid(case["description"]) == case["bySchema"]:
        disagree(path, f"the schema {'does not see' if case['bySchema'] else 'sees'} what `bySchema` says it {'sees' if case['bySchema'] else 'does not see'}")
for name, cases, least in (("valid", valid, 40), ("invalid", invalid, 60)):
    if len(cases) < least:
        disagreements += 1
        print(f"only {len(cases)} {name} descriptions: {least} at least are expected")
print(f"{len(valid)} valid, {len(invalid)} invalid, {len(examples)} examples, {disagreements} disagreements")
sys.exit(1 if disagreements else 0)
