"""JSON Schema 2020-12 for plugin settings and tool arguments: checked before any plugin code runs."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any

from memslot.config.problems import ConfigProblem

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_LONGEST_VALUE = 60
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

    try:
        return jsonschema_rs.Draft202012Validator(dict(schema), retriever=_refuse_remote)
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
    schema: Mapping[str, Any], value: Any, *, prefix: str = "", secret_paths: frozenset[str] = frozenset()
) -> list[ConfigProblem]:
    """All faults of a value at once, each with its key path, a safe form of the value, and the reason."""
    problems: list[ConfigProblem] = []
    for error in schema_validator(schema).iter_errors(value):
        path, keyword = _dotted(error.instance_path), error.kind.name
        full = ".".join(part for part in (prefix, path) if part)
        if keyword == "required":
            problems.append(ConfigProblem(_join(full, error.kind.property), "is required"))
        elif keyword in ("additionalProperties", "unevaluatedProperties"):
            known = _known_keys(schema, error.schema_path)
            problems.extend(_unknown_key(_join(full, key), key, known) for key in error.kind.unexpected)
        else:
            secret = is_secret(path, secret_paths)
            shown = "***" if secret else shorten(error.instance)
            problems.append(ConfigProblem(full or "(all of it)", _reason(keyword, error, secret), shown))
    return problems


def _unknown_key(path: str, key: str, known: list[str]) -> ConfigProblem:
    meant = near_miss(key, known)
    if meant:
        hint = f'did you mean "{meant}"?'
    else:
        hint = f"known keys: {', '.join(known)}" if known else "it takes no keys"
    return ConfigProblem(path, "is not a known key", hint=hint)


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
        return f"must be one of {shorten(kind.options, 200)}"
    if keyword == "const":
        return f"must be {shorten(kind.expected_value)}"
    if keyword in _BOUNDS:
        return f"must be {_BOUNDS[keyword]} {kind.limit}"
    if keyword in _LENGTHS:
        return f"must have {_LENGTHS[keyword].format(kind.limit)}"
    if keyword == "pattern":
        return f"must match the pattern {kind.pattern}"
    # The library's own sentence may quote the value.
    return "is not valid" if secret else str(error.message)


def is_secret(path: str, secret_paths: frozenset[str] = frozenset()) -> bool:
    """Whether a setting holds a secret: marked sensitive in the manifest, or named like one."""
    if any(path == secret or path.startswith(f"{secret}.") for secret in secret_paths):
        return True
    folded = path.lower().replace("_", "").replace("-", "")
    return any(word in folded for word in ("apikey", "token", "secret", "password", "authorization", "headers"))


def near_miss(word: str, known: list[str]) -> str | None:
    """The known name that was likely meant."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return close[0] if close else None


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


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _dotted(parts: list[str | int]) -> str:
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else (f".{part}" if path else str(part))
    return path


def shorten(value: Any, limit: int = _LONGEST_VALUE) -> str:
    """A value as JSON on one line, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= limit else text[: limit - 1] + "…"
