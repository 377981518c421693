"""Forms generated from a plugin's `configSchema` and `uiHints`, and the settings that a submitted form changes.

An empty field means the default. Secrets are never sent to the browser: their fields are empty, and an empty one
changes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memslot import MemslotError

from memslot_inspector.markup import NOTHING, Child, Markup, h

KeyPath = tuple[str, ...]
PREFIX = "set."
CLEAR = "clear."


@dataclass(frozen=True)
class Field:
    """One setting of a plugin, and how it is shown."""

    path: KeyPath
    """The path of its name in the form."""
    schema: Mapping[str, Any]
    hint: Mapping[str, Any]
    key: tuple[str | int, ...] = ()
    """Its path in the config file."""

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def label(self) -> str:
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", " ".join(self.path[1:] or self.path)).lower()
        return str(self.hint.get("label") or words.capitalize())

    @property
    def is_secret(self) -> bool:
        return bool(self.hint.get("sensitive"))

    @property
    def is_advanced(self) -> bool:
        return bool(self.hint.get("advanced"))

    @property
    def _type(self) -> Any:
        """The type in its schema; the one other than null if there are two."""
        named = self.schema.get("type")
        some = [each for each in named if each != "null"] if isinstance(named, list) else [named]
        return some[0] if len(some) == 1 else None

    @property
    def number_type(self) -> type[int] | type[float]:
        return int if self._type == "integer" else float

    @property
    def kind(self) -> str:
        """boolean, choice, choices, number, text, lines or json."""
        if self.schema.get("enum"):
            return "choice"
        of = self._type
        if of == "array" and isinstance(self.schema.get("items"), Mapping):
            items = self.schema["items"]
            if items.get("enum"):
                return "choices"
            return "lines" if items.get("type") == "string" else "json"
        return {"boolean": "boolean", "string": "text", "integer": "number", "number": "number"}.get(str(of), "json")


def fields_of(schema: Mapping[str, Any], hints: Mapping[str, Mapping[str, Any]], path: KeyPath = ()) -> Iterator[Field]:
    """The settings that a schema describes; an object with known keys becomes several."""
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        if not isinstance(inner, Mapping):
            continue
        where = (*path, str(name))
        hint = hints.get(".".join(where), {})
        if isinstance(inner.get("properties"), Mapping) and not hint.get("sensitive"):
            yield from fields_of(inner, hints, where)
        else:
            yield Field(where, inner, hint)


# Showing


def render(field: Field, value: Any) -> Markup:
    """Render a field with its current value, if it is set."""
    name = PREFIX + field.name
    ident = name.replace(".", "-")
    help_text = field.hint.get("help") or field.schema.get("description")
    label = h("label", field.label, for_=ident)
    control = _control(field, name, ident, value)
    helped = h("p", str(help_text), class_="quiet", id=f"{ident}-help") if help_text else NOTHING
    if field.kind == "choices":
        return h("fieldset", h("legend", field.label), control, helped, class_="field")
    return h("div", label, control, helped, class_="field")


def _control(field: Field, name: str, ident: str, value: Any) -> Child:
    shared: dict[str, Any] = {"name": name, "id": ident, "aria_describedby": f"{ident}-help"}
    default = field.schema.get("default")
    if field.is_secret:
        return _secret(field, shared, value)
    placeholder = str(field.hint.get("placeholder") or ("" if default is None else _plain(default)))
    match field.kind:
        case "boolean":
            said = {True: "yes", False: "no"}
            return _select(
                shared, [("", _default_name(said.get(bool(default)))), ("true", "yes"), ("false", "no")], value
            )
        case "choice":
            values = [(_plain(each), _plain(each)) for each in field.schema["enum"]]
            return _select(shared, [("", _default_name(default)), *values], value)
        case "choices":
            chosen = value if isinstance(value, list) else default if isinstance(default, list) else []
            boxes = [
                h(
                    "label",
                    h("input", type="checkbox", name=name, value=_plain(each), checked=each in chosen),
                    _plain(each),
                )
                for each in field.schema["items"]["enum"]
            ]
            # An empty list is a valid choice: distinguish it from a field that was not sent.
            return [h("input", type="hidden", name=name, value=""), h("span", boxes, class_="choices")]
        case "number":
            step = "1" if field.number_type is int else "any"
            limits = {"min": field.schema.get("minimum"), "max": field.schema.get("maximum")}
            shown = None if value is None else _plain(value)
            return h("input", type="number", step=step, value=shown, placeholder=placeholder, **limits, **shared)
        case "lines":
            lines = "\n".join(map(str, value)) if isinstance(value, list) else ""
            return h("textarea", lines, rows=3, placeholder="one per line", **shared)
        case "text":
            return h(
                "input", type="text", value=None if value is None else _plain(value), placeholder=placeholder, **shared
            )
        case _:
            shown = "" if value is None else json.dumps(value, indent=2, ensure_ascii=False)
            return h("textarea", shown, rows=4, placeholder="JSON", class_="source", **shared)


def _secret(field: Field, shared: Mapping[str, Any], value: Any) -> Child:
    reference = value if isinstance(value, str) and value.startswith("${") and value.endswith("}") else None
    state = "set; leave empty to keep it" if value is not None else "not set"
    shown = h("input", type="password", placeholder=reference or state, autocomplete="off", **shared)
    if value is None:
        return shown
    clear = h("label", h("input", type="checkbox", name=CLEAR + field.name, value="yes"), f"remove {field.label}")
    return [shown, h("span", clear, class_="choices")]


def _select(shared: Mapping[str, Any], options: Sequence[tuple[str, str]], value: Any) -> Markup:
    chosen = "" if value is None else _plain(value)
    return h("select", [h("option", name, value=each, selected=each == chosen) for each, name in options], **shared)


def _default_name(value: Any) -> str:
    return "default" if value is None else f"default ({_plain(value)})"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# Reading


def read(field: Field, values: Mapping[str, Sequence[str]], written: Any) -> Any:
    """Return a field's value from a form: None for the default, or the `written` value if the form has none."""
    sent = values.get(PREFIX + field.name)
    if field.is_secret:
        if values.get(CLEAR + field.name):
            return None
        return _parse(field, sent[0].strip()) if sent and sent[0].strip() else written
    if sent is None:
        return written
    if field.kind == "choices":
        chosen = [each for each in field.schema["items"]["enum"] if _plain(each) in sent]
        return written if written is None and chosen == field.schema.get("default") else chosen
    text = sent[0].replace("\r\n", "\n").strip()
    return _parse(field, text) if text else None


def _parse(field: Field, text: str) -> Any:
    try:
        match field.kind:
            case "boolean":
                return {"true": True, "false": False}[text]
            case "choice":
                return next(each for each in field.schema["enum"] if _plain(each) == text)
            case "number":
                return field.number_type(text)
            case "lines":
                return [line.strip() for line in text.split("\n") if line.strip()]
            case "text":
                return text
            case _:
                return json.loads(text)
    except (ValueError, KeyError, StopIteration):
        raise MemslotError(f"{field.label} cannot be {'that value' if field.is_secret else repr(text[:80])}") from None
