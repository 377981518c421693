"""What the config's schema says about one key, in words."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from memslot.config.keypath import KeyPath
from memslot.config.spelling import nearest

_Schema = dict[str, Any]
_NAMES = {"boolean": "true or false", "object": "an object", "null": "null"}


@cache
def _root() -> _Schema:
    from memslot.config.model import config_json_schema

    return config_json_schema()


def allowed_at(path: KeyPath) -> str:
    """What may stand at a key, such as `a whole number from 1 to 200`."""
    return _described(_schema_at(path))


def description_of(path: KeyPath) -> str | None:
    """What a key is for, as editors show it."""
    schema = _schema_at(path)
    text = schema.get("description")
    return str(text) if text else None


def key_hint(path: KeyPath) -> str:
    """The likely name for an unknown key, or else the names that are known."""
    known = sorted(_branch(_schema_at(path[:-1])).get("properties", {}))
    if guess := nearest(str(path[-1]), known):
        return f'did you mean "{guess}"?'
    return "allowed here: " + ", ".join(known) if known else "nothing is allowed here"


def value_hint(value: object, path: KeyPath) -> str | None:
    """The likely spelling of a word that is not among those allowed."""
    words = [word for option in _options(_schema_at(path)) for word in option.get("enum", ())]
    guess = nearest(value, words) if isinstance(value, str) else None
    return f'did you mean "{guess}"?' if guess else None


def _schema_at(path: KeyPath) -> _Schema:
    schema = _root()
    for step in path:
        owner = _branch(schema)
        if isinstance(step, int):
            schema = owner.get("items", {})
        else:
            schema = owner.get("properties", {}).get(step) or owner.get("additionalProperties") or {}
        if not isinstance(schema, dict):
            return {}
    # The description beside a $ref says more than the one of the class it points to.
    return {**_resolved(schema), **{key: value for key, value in schema.items() if key != "$ref"}}


def _resolved(schema: _Schema) -> _Schema:
    reference = schema.get("$ref", "")
    return _root()["$defs"][reference.rsplit("/", 1)[-1]] if reference else schema


def _branch(schema: _Schema) -> _Schema:
    """Of several possible shapes, the one that has keys or items."""
    schema = _resolved(schema)
    for option in _options(schema):
        if "properties" in option or "items" in option or "additionalProperties" in option:
            return option
    return schema


def _options(schema: _Schema) -> list[_Schema]:
    listed = schema.get("anyOf") or schema.get("oneOf") or [schema]
    return [_resolved(option) for option in listed if option.get("type") != "null"]


def _described(schema: _Schema) -> str:
    return " or ".join(_one(option) for option in _options(schema)) or "another value"


def _one(schema: _Schema) -> str:
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        *most, last = [json.dumps(value) for value in schema["enum"]]
        return f"{', '.join(most)} or {last}" if most else last
    kind = str(schema.get("type"))
    if kind in ("integer", "number"):
        return ("a whole number" if kind == "integer" else "a number") + _bounds(schema)
    if kind == "string":
        if examples := schema.get("examples"):
            return "text such as " + ", ".join(json.dumps(example) for example in examples)
        return "text that is not empty" if schema.get("minLength") else "text"
    if kind == "array":
        content = _described(schema.get("items", {})).replace("an object", "objects")
        return ("a list that is not empty, of " if schema.get("minItems") else "a list of ") + content
    return _NAMES.get(kind, "another value")


def _bounds(schema: _Schema) -> str:
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
