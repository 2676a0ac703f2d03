"""Uses the Python implementation of JSON Type Definition (PyPI: jtd) as an oracle: it computes the expected results for
the engine's tests.

    jtd_oracle.py SEED COUNT     generated cases, the same for the same seed

Prints a line of JSON per case: {"schema", "instance", and "errors": [[instancePath, schemaPath]...] or "wrong":
true}. "wrong" means that the schema is invalid. Where the package departs from RFC 8927, the oracle corrects the result.
The docstrings and comments explain the corrections.
"""
import datetime
import json
import random
import re
import sys

import jtd
import jtd.validate  # noqa: F401 - the module; the package hides it behind the function of the same name

reference = sys.modules["jtd.validate"]


# MARK: Repairs

unrestored = reference._validate_with_state


def restoring(state, schema, instance, tag):
    """Repairs the reference, which leaves a schema token behind if a schema with a discriminator meets a value that is
    not an object.
    """
    depth = len(state.schema_tokens[-1])
    unrestored(state, schema, instance, tag)
    del state.schema_tokens[-1][depth:]


def is_timestamp(text):
    """Repairs the check of timestamps. The package that the reference uses refuses the year 0 and all leap seconds, and
    accepts digits of any script.
    """
    match = re.fullmatch(r"([0-9]{4})(-..-..T..:..:)(..)(\.[0-9]+)?(Z|[+-]..:..)", text)
    if not match or not text.isascii():
        return False
    # The calendar repeats every 400 years. The years from 2000 to 2399 have the same calendar, and the package accepts
    # the years before and after them.
    start, second, zone = f"{2000 + int(match[1]) % 400}{match[2]}", match[3], match[5]
    if second != "60":
        return strict(start + second + zone)
    if not strict(start + "59" + zone):
        return False
    after = datetime.datetime.fromisoformat((start + "59" + zone).replace("Z", "+00:00")) + datetime.timedelta(seconds=1)
    after = after.astimezone(datetime.timezone.utc)
    return (after.day, after.hour, after.minute, after.second) == (1, 0, 0, 0)


reference._validate_with_state = restoring
strict = reference.strict_rfc3339.validate_rfc3339
reference.strict_rfc3339.validate_rfc3339 = is_timestamp


def repaired(schema):
    """Makes the reference refuse schemas that it wrongly accepts: with null as a keyword's value, with wrong metadata,
    or with an `additionalProperties` that is not a boolean. Raises an error for such a schema."""
    if any(value is None for value in schema.values()) or not isinstance(schema.get("metadata", {}), dict):
        raise TypeError("null or metadata")
    schema = dict(schema)
    if "additionalProperties" in schema:
        if not isinstance(schema["additionalProperties"], bool):
            raise TypeError("additionalProperties")
        schema["additionalProperties"] = "true"
    for keyword in ("elements", "values"):
        if keyword in schema:
            schema[keyword] = repaired(schema[keyword])
    for keyword in ("properties", "optionalProperties", "mapping", "definitions"):
        if keyword in schema:
            schema[keyword] = {name: repaired(value) for name, value in schema[keyword].items()}
    return schema


def pointer(tokens):
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens)


def solve(schema, instance):
    """Returns a case with its expected result. Returns None if definitions refer to each other without end."""
    case = {"schema": schema, "instance": instance}
    try:
        jtd.Schema.from_dict(repaired(schema)).validate()
    except (TypeError, AttributeError, KeyError):
        return {**case, "wrong": True}
    try:
        errors = jtd.validate(schema=jtd.Schema.from_dict(schema), instance=instance)
    except RecursionError:
        return None
    return {**case, "errors": sorted([pointer(e.instance_path), pointer(e.schema_path)] for e in errors)}


# MARK: Generation

TYPES = jtd.Schema._TYPE_VALUES
NAMES = ["a", "b", "c", "kind", "", "a/b", "m~n", "é", "e\u0301", "a long name with \"quotes\" and \U0001F600"]
DEFINITIONS = ["node", "leaf", "x/y", "loop"]
NUMBERS = [0, -1, 1, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, -32769, 65535, 65536, 2**31 - 1, 2**31,
           -2**31, -2**31 - 1, 2**32 - 1, 2**32, 2**63, -2**70, 10.0, 10.5, -0.0, 255.0, 1e2, 1e300, 0.1, 4294967295.5]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def names(self, most):
        return self.random.sample(NAMES, self.random.randint(0, most))

    def root(self):
        definitions = {}
        if self.chance(60):
            self.defined = self.random.sample(DEFINITIONS, self.random.randint(1, 4))
            definitions = {"definitions": {name: self.schema(2) for name in self.defined}}
        else:
            self.defined = []
        schema = {**definitions, **self.schema(3)}
        return self.broken(schema) if self.chance(25) else schema

    def schema(self, depth):
        forms = [self.type, self.enum, lambda _: {}] + [self.ref] * 2 * bool(self.defined)
        if depth > 0:
            forms += [self.elements, self.values, self.properties, self.properties, self.discriminator] * 2
        schema = self.random.choice(forms)(depth - 1)
        if self.chance(20):
            schema["nullable"] = self.chance(80)
        if self.chance(5):
            schema["metadata"] = {"type": 1}
        return schema

    def ref(self, _):
        return {"ref": self.random.choice(self.defined)}

    def type(self, _):
        return {"type": self.random.choice(TYPES)}

    def enum(self, _):
        return {"enum": self.random.sample(NAMES, self.random.randint(1, 4))}

    def elements(self, depth):
        return {"elements": self.schema(depth)}

    def values(self, depth):
        return {"values": self.schema(depth)}

    def properties(self, depth, tag=None):
        names = [name for name in self.names(5) if name != tag]
        split = self.random.randint(0, len(names))
        schema = {}
        if split > 0 or self.chance(50):
            schema["properties"] = {name: self.schema(depth) for name in names[:split]}
        if split < len(names) or not schema:
            schema["optionalProperties"] = {name: self.schema(depth) for name in names[split:]}
        if self.chance(30):
            schema["additionalProperties"] = self.chance(60)
        return schema

    def discriminator(self, depth):
        tag = self.random.choice(NAMES)
        return {"discriminator": tag, "mapping": {name: self.properties(depth, tag) for name in self.names(3)}}

    def broken(self, schema):
        """Damages a schema: sets, removes or changes one keyword at a random place."""
        schemas = []

        def collect(schema):
            schemas.append(schema)
            for keyword in ("elements", "values"):
                if keyword in schema:
                    collect(schema[keyword])
            for keyword in ("properties", "optionalProperties", "mapping", "definitions"):
                for value in schema.get(keyword, {}).values():
                    collect(value)

        collect(schema)
        target = self.random.choice(schemas)
        keyword = self.random.choice(jtd.Schema._KEYWORDS + ["format", "Type"])
        if target and self.chance(40):
            keyword = self.random.choice(list(target))
            if self.chance(40):
                del target[keyword]
                return schema
        target[keyword] = self.random.choice([
            None, True, False, 1, "a", "node", "string", "int64", [], ["a"], ["a", "a"], ["a", 1], {}, {"a": {}}, {"a": 1},
            {"a": {"properties": {}}}, {"a": {"properties": {"kind": {}}, "nullable": True}}, {"type": "string"}, {"a": None}])
        return schema

    # Instances. Most of them fit the schema, so that the validation reaches deep levels.

    def instance(self, schema, definitions, depth=6):
        if not isinstance(schema, dict) or depth <= 0 or self.chance(12):
            return self.anything(2)
        if schema.get("nullable") and self.chance(20):
            return None
        try:
            return self.wanted(schema, definitions, depth - 1)
        except (TypeError, AttributeError, IndexError, KeyError):
            return self.anything(2)

    def wanted(self, schema, definitions, depth):
        if "ref" in schema:
            return self.instance(definitions.get(schema["ref"]), definitions, depth)
        if "type" in schema:
            return {"boolean": lambda: self.chance(50), "string": lambda: self.random.choice(NAMES),
                    "timestamp": self.timestamp}.get(schema["type"], lambda: self.random.choice(NUMBERS))()
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        if "elements" in schema:
            return [self.instance(schema["elements"], definitions, depth) for _ in range(self.random.randint(0, 3))]
        if "values" in schema:
            return {name: self.instance(schema["values"], definitions, depth) for name in self.names(3)}
        if "discriminator" in schema:
            name = self.random.choice(list(schema["mapping"]))
            members = self.wanted(schema["mapping"][name], definitions, depth)
            if not self.chance(10):
                members[schema["discriminator"]] = name if self.chance(90) else self.anything(1)
            return self.shuffled(members)
        if "properties" in schema or "optionalProperties" in schema:
            members = {}
            for keyword, percent in (("properties", 92), ("optionalProperties", 60)):
                for name, value in schema.get(keyword, {}).items():
                    if self.chance(percent):
                        members[name] = self.instance(value, definitions, depth)
            if self.chance(20):
                members[self.random.choice(NAMES)] = self.anything(1)
            return self.shuffled(members)
        return self.anything(2)

    def shuffled(self, members):
        return dict(self.random.sample(list(members.items()), len(members)))

    def anything(self, depth):
        choices = [lambda: None, lambda: self.chance(50), lambda: self.random.choice(NUMBERS),
                   lambda: self.random.choice(NAMES), self.timestamp]
        if depth > 0:
            choices += [lambda: [self.anything(depth - 1) for _ in range(self.random.randint(0, 2))],
                        lambda: {name: self.anything(depth - 1) for name in self.names(2)}] * 2
        return self.random.choice(choices)()

    def timestamp(self):
        pick = self.random.choice
        if self.chance(25):
            return pick(["1990-12-31T23:59:60Z", "1990-12-31T15:59:60-08:00", "1990-12-31T15:59:60Z", "1991-01-01T00:59:60+01:00",
                         "1990-12-30T23:59:60Z", "2016-02-29T23:59:60Z", "1985-04-12 23:20:50Z", "1985-04-12t23:20:50z",
                         "1985-04-12T23:20:50.Z", "1985-04-12T23:20:50", "1985-04-12", "\u0661985-04-12T23:20:50Z"])
        text = "%04d-%02d-%02dT%02d:%02d:%02d" % (
            pick([0, 1, 1900, 1985, 2000, 2023, 2024, 9999]), pick(list(range(1, 13)) + [0, 13]), pick([1, 12, 28, 29, 30, 31, 32, 0]),
            pick([0, 15, 23, 23, 24]), pick([0, 20, 59, 59, 60]), pick([0, 50, 59, 60, 60, 61]))
        return text + pick(["", "", ".5", ".123456789012", "."]) + pick(["Z", "Z", "+00:00", "-00:00", "+23:59", "-08:00", "+24:00", "+01:60", "z", ""])

    def case(self):
        schema = self.root()
        definitions = schema.get("definitions")
        return schema, self.instance(schema, definitions if isinstance(definitions, dict) else {})


def main():
    generator, count = Generator(int(sys.argv[1])), int(sys.argv[2])
    while count > 0:
        case = solve(*generator.case())
        if case:
            print(json.dumps(case, ensure_ascii=False))
            count -= 1


if __name__ == "__main__":
    main()
