"""JSON Schema 2020-12 validation of plugin settings and tool arguments, before any plugin code runs."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from memslot.config.keypath import KeyPath, format_key
from memslot.config.merge import copied
from memslot.config.problems import ConfigProblem
from memslot.config.sensitive import is_secret_key, shown
from memslot.config.spelling import nearest

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MAX_CHARS = 200
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}
_OTHER_REASONS = {
    "anyOf": "matches none of the allowed forms",
    "oneOf": "must match exactly one of the allowed forms",
    "not": "has a forbidden form",
    "format": "does not have the required format",
    "uniqueItems": "has a duplicate item",
    "multipleOf": "is not a multiple of the required number",
}
_LENGTHS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}


def schema_validator(schema: Mapping[str, Any]) -> Any:
    """Compile a schema. Raises ValueError if it is invalid. Never fetches remote references."""
    import jsonschema_rs

    # Without `properties`, the library reports a refused key's value instead of its name.
    complete = {"properties": {}, **schema} if schema.get("additionalProperties") is False else dict(schema)
    try:
        return jsonschema_rs.Draft202012Validator(complete, retriever=_refuse_remote)
    except jsonschema_rs.ValidationError as error:
        raise ValueError(error.message) from None
    except (jsonschema_rs.ReferencingError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _refuse_remote(uri: str) -> Any:
    raise ValueError(f"{uri} is a remote reference; only references within the schema are allowed")


def schema_fault(schema: Any) -> str | None:
    """Return why a schema is unusable, or None."""
    if not isinstance(schema, Mapping):
        return "it is not an object"
    if str(schema.get("$schema", _DIALECT)).rstrip("#") != _DIALECT:
        return f"its $schema must be {_DIALECT} or omitted"
    try:
        schema_validator(schema)
    except ValueError as error:
        return str(error)
    return None


def check_settings(
    schema: Mapping[str, Any],
    value: Any,
    *,
    prefix: KeyPath = (),
    secret_paths: frozenset[str] = frozenset(),
    hidden: Collection[KeyPath] = (),
) -> list[ConfigProblem]:
    """Return all problems of a value, each with its key path, the value in printable form, and the reason.

    `secret_paths` are the manifest's sensitive settings; `hidden` are full paths of values from the environment.
    """
    problems: list[ConfigProblem] = []
    try:
        errors = list(schema_validator(schema).iter_errors(value))
    except (ValueError, TypeError, RecursionError) as error:
        return [ConfigProblem(format_key(prefix) or "it", f"is not plain JSON data: {error}")]
    for fault in errors:
        inside: KeyPath = tuple(fault.instance_path)
        path = (*prefix, *inside)
        keyword = fault.kind.name
        if keyword == "required":
            problems.append(ConfigProblem(format_key((*path, fault.kind.property)), "is required"))
        elif keyword in ("additionalProperties", "unevaluatedProperties"):
            known = _known_keys(schema, fault.schema_path)
            problems.extend(_unknown_key((*path, key), known) for key in fault.kind.unexpected)
        else:
            hide = _is_marked_secret(inside, secret_paths) or is_secret_key(inside) or path in hidden
            value_shown = shown(fault.instance, inside, hide=hide)
            problems.append(ConfigProblem(format_key(path) or "it", reason_of(fault), value_shown))
    return problems


def _is_marked_secret(path: KeyPath, secret_paths: frozenset[str]) -> bool:
    """Whether the manifest marks a setting or one of its parents as sensitive."""
    return any(format_key(path[:length]) in secret_paths for length in range(1, len(path) + 1))


def _unknown_key(path: KeyPath, known: list[str]) -> ConfigProblem:
    meant = nearest(str(path[-1]), known)
    if meant:
        hint = f'did you mean "{meant}"?'
    else:
        hint = f"known keys: {', '.join(known)}" if known else "it takes no keys"
    return ConfigProblem(format_key(path), "is not a known key", hint=hint)


def _known_keys(schema: Any, schema_path: list[str | int]) -> list[str]:
    """Return the known keys of an object, found next to the keyword that rejected one."""
    for part in schema_path[:-1]:
        try:
            schema = schema[part]
        except (KeyError, IndexError, TypeError):
            return []
    return sorted(schema.get("properties") or {}) if isinstance(schema, Mapping) else []


def reason_of(fault: Any) -> str:
    """Say why a value is rejected, by the schema keyword it violates."""
    kind, keyword = fault.kind, fault.kind.name
    if keyword == "type":
        types = [kind.types] if isinstance(kind.types, str) else kind.types
        return f"must be {' or '.join(str(t) for t in types)}"
    if keyword == "enum":
        return f"must be one of {_as_json(kind.options)}"
    if keyword == "const":
        return f"must be {_as_json(kind.expected_value)}"
    if keyword in _BOUNDS:
        return f"must be {_BOUNDS[keyword]} {kind.limit}"
    if keyword in _LENGTHS:
        return f"must have {_LENGTHS[keyword].format(kind.limit)}"
    if keyword == "pattern":
        return f"must match the pattern {kind.pattern}"
    # Never the library's own message: it quotes the value, secrets included.
    return _OTHER_REASONS.get(keyword, f"does not satisfy the schema's {keyword}")


def with_defaults(schema: Any, value: Any) -> Any:
    """Return a copy of the value with the schema's `default`s filled in."""
    if not isinstance(schema, Mapping):
        return copied(value)
    if isinstance(value, list | tuple):
        return [with_defaults(schema.get("items"), item) for item in value]
    if not isinstance(value, Mapping):
        return value
    known = {key: sub for key, sub in (schema.get("properties") or {}).items() if isinstance(sub, Mapping)}
    filled = {key: sub["default"] for key, sub in known.items() if "default" in sub} | dict(value)
    others = schema.get("additionalProperties")
    return {key: with_defaults(known.get(key, others), item) for key, item in filled.items()}


def _as_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 1] + "…"
