"""What the config schema allows at a key, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from memslot.config.keypath import KeyPath
from memslot.config.spelling import nearest

Schema = dict[str, Any]
_COVERED = {"type", "enum", "const", "minimum", "exclusiveMinimum", "maximum"}
_NAMES = {"boolean": "true or false", "object": "an object", "null": "null"}


def part_of(schema: Schema, path: KeyPath) -> Schema:
    """Return the subschema of a key; empty if there is none."""
    for step in path:
        if isinstance(step, int):
            part = schema.get("items")
        else:
            part = schema.get("properties", {}).get(step) or schema.get("additionalProperties")
        schema = part if isinstance(part, dict) else {}
    return schema


def keys_of_format(tree: Any, schema: Schema, name: str, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the keys in a tree whose schema has this `format`; a format says what a value names, such as code."""
    if schema.get("format") == name:
        yield path
    elif isinstance(tree, dict | list):
        for step, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from keys_of_format(value, part_of(schema, (step,)), name, (*path, step))


def allowed_at(schema: Schema, path: KeyPath) -> str:
    """Describe the allowed values of a key, such as `a whole number from 1 to 200`."""
    return _described(part_of(schema, path))


def is_described(schema: Schema, path: KeyPath, keyword: str) -> bool:
    """Whether `allowed_at` covers this schema keyword; plugins may use any."""
    part = part_of(schema, path)
    if keyword in ("minLength", "minItems"):
        return bool(part.get(keyword) == 1)
    return keyword in _COVERED or (keyword == "pattern" and "examples" in part)


def description_of(schema: Schema, path: KeyPath) -> str | None:
    """Return a key's description, as editors show it."""
    text = part_of(schema, path).get("description")
    return str(text) if text else None


def key_hint(schema: Schema, path: KeyPath) -> str:
    """Suggest a name for an unknown key, or list the known ones."""
    known = sorted(part_of(schema, path[:-1]).get("properties", {}))
    if guess := nearest(str(path[-1]), known):
        return f'did you mean "{guess}"?'
    return "allowed here: " + ", ".join(known) if known else "nothing is allowed here"


def value_hint(schema: Schema, path: KeyPath, value: object) -> str | None:
    """Suggest a spelling for a word that is not in the enum."""
    words = [word for word in part_of(schema, path).get("enum", ()) if isinstance(word, str)]
    guess = nearest(value, words) if isinstance(value, str) else None
    return f'did you mean "{guess}"?' if guess else None


def _described(schema: Schema) -> str:
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return " or ".join(_described(option) for option in options)
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        *most, last = [json.dumps(value) for value in schema["enum"] if value is not None]
        return f"{', '.join(most)} or {last}" if most else last
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
    return " or ".join(_one(schema, kind) for kind in kinds) or "plain JSON data"


def _one(schema: Schema, kind: str) -> str:
    if kind in ("integer", "number"):
        return ("a whole number" if kind == "integer" else "a number") + _bounds(schema)
    if kind == "string":
        if examples := schema.get("examples"):
            return "text such as " + ", ".join(json.dumps(example) for example in examples)
        return "non-empty text" if schema.get("minLength") else "text"
    if kind == "array":
        content = _described(schema.get("items", {})).replace("an object", "objects")
        return ("a non-empty list of " if schema.get("minItems") else "a list of ") + content
    return _NAMES.get(kind, "another value")


def _bounds(schema: Schema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        return f" above {_number(schema['exclusiveMinimum'])}" + (
            f" and up to {_number(high)}" if high is not None else ""
        )
    if low is not None and high is not None:
        return f" from {_number(low)} to {_number(high)}"
    if low is not None:
        return f" of {_number(low)} or more"
    return f" up to {_number(high)}" if high is not None else ""


def _number(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) and not value.is_integer() else str(int(value))
