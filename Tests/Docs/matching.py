"""Compares a text in a document with the real text. In the document, `…` matches anything within a line or a JSON
value, and a line that contains only `…` matches any number of lines."""
import json
import re

ANY = "…"
ANY_VALUE = '"……"'  # the JSON string into which `parsed` changes a `…` that takes the place of a JSON value


def documents(text):
    """Returns the JSON values in a text, one after the other."""
    decoder, values, place = json.JSONDecoder(), [], 0
    while (place := re.compile(r"\s*").match(text, place).end()) < len(text):
        value, place = decoder.raw_decode(text, place)
        values.append(value)
    return values


def parsed(text):
    """Parses JSON in the notation of the documents: `…` for a value or for further members, and `"name"?` for a member
    that may be missing.
    """
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    for index in range(0, len(parts), 2):
        part = re.sub(r"\?(?=\s*:)", "", parts[index])
        part = re.sub(f"(:\\s*){ANY}", f"\\1{ANY_VALUE}", part)
        part = re.sub(f"(?<![\"{ANY}]){ANY}(?=\\s*}})", f"{ANY_VALUE}:{ANY_VALUE}", part)
        parts[index] = re.sub(f"(?<![\"{ANY}]){ANY}(?![\"{ANY}])", ANY_VALUE, part)
    return documents("".join(parts))


def compact(values):
    return "\n".join(json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values)


def json_matches(shown, found):
    """Returns whether the JSON in a document matches the real JSON: the same members in the same order, and the same
    digits as far as Python keeps them.
    """
    pattern = re.escape(compact(parsed(shown)))
    for any_member in [f"{ANY_VALUE}:{ANY_VALUE}", ANY_VALUE]:
        pattern = pattern.replace(re.escape(any_member), ".*?")
    return re.fullmatch(pattern.replace(ANY, '[^"]*?'), compact(documents(found))) is not None


def text_matches(shown, found, whole=True):
    lines = [".*" if line.strip() == ANY else re.escape(line.rstrip()).replace(ANY, "[^\n]*?") for line in shown.rstrip().split("\n")]
    pattern, found = "\n".join(lines), "\n".join(line.rstrip() for line in found.rstrip().split("\n"))
    return (re.fullmatch if whole else re.search)(pattern, found, re.S) is not None
