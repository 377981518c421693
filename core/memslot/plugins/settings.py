"""JSON Schema 2020-12 for plugin settings and tool arguments: checked before any plugin code runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memslot.config.keypath import KeyPath, format_key
from memslot.config.problems import ConfigProblem
from memslot.config.sensitive import is_secret_key, shown
from memslot.config.spelling import nearest

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_LONGEST = 200
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}
_LENGTHS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}


def schema_validator(schema: Mapping[str, Any]) -> Any:
    """Compile a schema; raises ValueError where it is not a valid one. Never fetches a remote reference."""
    import jsonschema_rs

    # Without `properties` the library reports the value of a refused key, and not which key it is.
    complete = {"properties": {}, **schema} if schema.get("additionalProperties") is False else dict(schema)
    try:
        return jsonschema_rs.Draft202012Validator(complete, retriever=_refuse_remote)
    except jsonschema_rs.ValidationError as error:
        raise ValueError(error.message) from None
    except (jsonschema_rs.ReferencingError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _refuse_remote(uri: str) -> Any:
    raise ValueError(f"{uri} is outside this schema; references must stay inside it")


def schema_fault(schema: Any) -> str | None:
    """Why a schema cannot be used, or None."""
    if not isinstance(schema, Mapping):
        return "it is not an object"
    if str(schema.get("$schema", _DIALECT)).rstrip("#") != _DIALECT:
        return f"its $schema must be {_DIALECT} or left out"
    try:
        schema_validator(schema)
    except ValueError as error:
        return str(error)
    return None


def check_settings(
    schema: Mapping[str, Any], value: Any, *, prefix: KeyPath = (), secret_paths: frozenset[str] = frozenset()
) -> list[ConfigProblem]:
    """All faults of a value at once, each with its key path, a safe form of the value, and the reason."""
    problems: list[ConfigProblem] = []
    for error in schema_validator(schema).iter_errors(value):
        inside: KeyPath = tuple(error.instance_path)
        path = (*prefix, *inside)
        keyword = error.kind.name
        if keyword == "required":
            problems.append(ConfigProblem(format_key((*path, error.kind.property)), "is required"))
        elif keyword in ("additionalProperties", "unevaluatedProperties"):
            known = _known_keys(schema, error.schema_path)
            problems.extend(_unknown_key((*path, key), known) for key in error.kind.unexpected)
        else:
            hide = _is_marked_secret(inside, secret_paths) or is_secret_key(inside)
            reason = _reason(keyword, error, hide)
            problems.append(ConfigProblem(format_key(path) or "it", reason, shown(error.instance, inside, hide=hide)))
    return problems


def _is_marked_secret(path: KeyPath, secret_paths: frozenset[str]) -> bool:
    """Whether the manifest marks a setting, or one around it, as sensitive."""
    return any(format_key(path[:length]) in secret_paths for length in range(1, len(path) + 1))


def _unknown_key(path: KeyPath, known: list[str]) -> ConfigProblem:
    meant = nearest(str(path[-1]), known)
    if meant:
        hint = f'did you mean "{meant}"?'
    else:
        hint = f"known keys: {', '.join(known)}" if known else "it takes no keys"
    return ConfigProblem(format_key(path), "is not a known key", hint=hint)


def _known_keys(schema: Any, schema_path: list[str | int]) -> list[str]:
    """The keys an object may have, looked up beside the keyword that refused one."""
    for part in schema_path[:-1]:
        try:
            schema = schema[part]
        except (KeyError, IndexError, TypeError):
            return []
    return sorted(schema.get("properties") or {}) if isinstance(schema, Mapping) else []


def _reason(keyword: str, error: Any, secret: bool) -> str:
    kind = error.kind
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
    # The library's own sentence may quote the value.
    return "is not valid" if secret else str(error.message)


def with_defaults(schema: Any, value: Any) -> Any:
    """A value with the schema's `default`s filled in where keys are missing. Changes neither argument."""
    if not isinstance(schema, Mapping) or not isinstance(value, Mapping):
        return value
    filled = dict(value)
    for key, sub in (schema.get("properties") or {}).items():
        if not isinstance(sub, Mapping):
            continue
        if key in filled:
            filled[key] = with_defaults(sub, filled[key])
        elif "default" in sub:
            filled[key] = json.loads(json.dumps(sub["default"]))
    return filled


def _as_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
