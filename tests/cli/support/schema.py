"""Holds JSON against docs/benchmark-schema.json: the keywords of JSON Schema that it has, and no others."""

import hashlib
import json
import re

from support.command import SOURCE

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "number": (int, float), "integer": int}
KNOWN = {"$schema", "title", "description", "type", "const", "enum", "anyOf", "properties", "required", "additionalProperties", "items",
         "minItems", "maxItems", "minimum", "pattern"}
SCHEMA = json.loads((SOURCE / "docs" / "benchmark-schema.json").read_text())


def is_a(value, kind):
    return isinstance(value, TYPES[kind]) and (kind in ("boolean",) or not isinstance(value, bool))


def check(value, schema, place="the file"):
    """Raises AssertionError where `value` breaks the schema; a keyword that this does not know is an error of the schema."""
    assert set(schema) <= KNOWN, f"unknown keywords at {place}: {set(schema) - KNOWN}"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    assert not kinds or any(is_a(value, kind) for kind in kinds), f"{place} is {value!r}, not {' or '.join(kinds)}"
    assert "const" not in schema or (value == schema["const"] and not isinstance(value, bool)), f"{place} is {value!r}"
    assert value in schema.get("enum", [value]), f"{place} is {value!r}, none of {schema['enum']}"
    if "anyOf" in schema:
        check_any(value, schema["anyOf"], place)
    if is_a(value, "number") and "minimum" in schema:
        assert value >= schema["minimum"], f"{place} is {value}"
    if isinstance(value, str) and "pattern" in schema:
        assert re.search(schema["pattern"], value), f"{place} is {value!r}"
    if isinstance(value, list):
        assert schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)), f"{place} has {len(value)} items"
        for i, item in enumerate(value):
            check(item, schema.get("items", {}), f"{place}[{i}]")
    if isinstance(value, dict):
        check_members(value, schema, place)


def check_any(value, choices, place):
    said = []
    for choice in choices:
        try:
            check(value, choice, place)
            return
        except AssertionError as error:
            said.append(str(error))
    raise AssertionError(f"{place} is none of what it may be: {said}")


def check_members(value, schema, place):
    properties = schema.get("properties", {})
    missing = [name for name in schema.get("required", []) if name not in value]
    assert not missing, f"{place} lacks {missing}"
    for name, item in value.items():
        assert name in properties or schema.get("additionalProperties", True), f"{place} has {name}, which the schema does not"
        check(item, properties.get(name, {}), f"{place}.{name}")


def sealed(text):
    """The hash that the file ends with is that of all bytes before its line."""
    before, line = text.split(b'\n "hash": "')
    return hashlib.sha256(before + b"\n").hexdigest() == line[:64].decode()


def results(text):
    """A new file of results, which must be as the schema says, with its hash; rows that are noisy say why."""
    told = json.loads(text)
    check(told, SCHEMA)
    assert all(row["reason"] for row in told["rows"] if row["noisy"]), [row for row in told["rows"] if row["noisy"] and not row["reason"]]
    assert list(told)[0] == "schema" and list(told)[-1] == "hash" and sealed(text), "the hash does not fit"
    return told
