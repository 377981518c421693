"""The base class of config sections.

A section is an immutable record declared once: the validation, the JSON Schema and the docs all derive from its fields.
A tree is validated by the JSON Schema on entry (`check`); `Section.from_tree` builds from validated trees only.
"""

# No `from __future__ import annotations`: from_tree reads the fields' types.

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, dataclass_transform, get_args, get_origin

from memslot.config.merge import copied

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


def camel_case(name: str) -> str:
    """Return a field's key in the file: `max_results` is `maxResults`, `lambda_` is `lambda`."""
    first, *others = name.rstrip("_").split("_")
    return first + "".join(map(str.capitalize, others))


def setting(default: Any, description: str, *, alias: str | None = None, shown: bool = True, **keywords: Any) -> Any:
    """Declare a field of a section, with JSON Schema `keywords` such as `minimum=1`. `shown=False` omits it from repr.

    The default is a value, the class of another section, or `...` if the field is required.
    """
    metadata = {"alias": alias, "schema": {"description": description, **keywords}}
    if default is ...:
        return dataclasses.field(repr=shown, metadata=metadata)
    if isinstance(default, type | dict):
        factory = default if isinstance(default, type) else default.copy
        return dataclasses.field(default_factory=factory, repr=shown, metadata=metadata)
    return dataclasses.field(default=default, repr=shown, metadata=metadata)


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Section:
    """A part of the config: camelCase in files, snake_case in Python, no implicit type conversion."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    _written: Mapping[str, Any]

    def __init_subclass__(cls) -> None:
        # All sections share the methods below: generating them per class costs 30 ms at every start, as does the
        # docstring that `dataclass` generates if there is none.
        doc, cls.__doc__ = cls.__doc__, " "
        dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
        cls.__doc__ = doc

    def __init__(self, **values: Any) -> None:
        for field in dataclasses.fields(self):
            if field.name in values:
                value = values[field.name]
            elif field.default is not dataclasses.MISSING:
                value = field.default
            elif field.default_factory is not dataclasses.MISSING:
                value = field.default_factory()
            else:
                raise TypeError(f"{type(self).__name__} needs {field.name}")
            self.__dict__[field.name] = value
        if unknown := values.keys() - self.__dict__.keys():
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(unknown))}")
        self.__dict__["_written"] = {
            _key_of(cls_field): _plain(values[cls_field.name])
            for cls_field in dataclasses.fields(self)
            if cls_field.name in values
        }
        self.__post_init__()

    def __post_init__(self) -> None:
        """Derive values that depend on others."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to {name!r}: a config is immutable")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete {name!r}: a config is immutable")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __repr__(self) -> str:
        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
        return f"{type(self).__name__}({', '.join(shown)})"

    def _values(self) -> dict[str, Any]:
        return {field.name: self.__dict__[field.name] for field in dataclasses.fields(self)}

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> Self:
        """Build the section from a validated tree; unknown keys stay in `written` for their own readers."""
        fields = dataclasses.fields(cls)
        made = cls(**{each.name: _built(each.type, tree[key]) for each in fields if (key := _key_of(each)) in tree})
        made.__dict__["_written"] = tree
        return made

    def to_tree(self) -> dict[str, Any]:
        """Return all settings by file key, defaults included, as plain JSON data."""
        return {_key_of(field): _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    def written(self) -> dict[str, Any]:
        """Return only what was explicitly set: layers merge this, never defaults."""
        tree: dict[str, Any] = copied(self._written)
        return tree


def json_schema(kind: type[Section]) -> dict[str, Any]:
    """Return the JSON Schema 2020-12 of a section."""
    required = [_key_of(field) for field in dataclasses.fields(kind) if _default(field) is dataclasses.MISSING]
    return {
        "type": "object",
        "properties": {_key_of(field): _field_schema(field) for field in dataclasses.fields(kind)},
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }


def _field_schema(field: "dataclasses.Field[Any]") -> dict[str, Any]:
    default = _default(field)
    if isinstance(default, Section):
        default = {}  # the inner keys have their own defaults
    shown = {} if default is dataclasses.MISSING else {"default": _plain(default)}
    return {**_type_schema(field.type), **field.metadata["schema"], **shown}


def _default(field: "dataclasses.Field[Any]") -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _type_schema(annotation: Any) -> dict[str, Any]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return {**_type_schema(arguments[0]), **dict(arguments[1:])}
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin is tuple:
        return {"type": "array", "items": _type_schema(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type_schema(arguments[1])}
    if arguments:  # a union: schema keywords only apply to values of their own type
        options = [_type_schema(each) for each in arguments]
        whole = {key: value for option in options for key, value in option.items()}
        if "enum" in whole:
            whole["enum"] = [*whole["enum"], None]
        return {**whole, "type": [option["type"] for option in options]}
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return json_schema(annotation)
    return {"type": _TYPES[annotation]} if annotation in _TYPES else {}


def _key_of(field: "dataclasses.Field[Any]") -> str:
    return field.metadata["alias"] or camel_case(field.name)


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        return value.to_tree()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _built(annotation: Any, value: Any) -> Any:
    """Convert a validated value to its field's type: lists to tuples, objects to sections, numbers to int or float."""
    for kind in _kinds(annotation):
        origin, arguments = get_origin(kind) or kind, get_args(kind)
        if origin is tuple and not isinstance(value, str | None):
            return tuple(_built(arguments[0], item) for item in value)
        if isinstance(value, Mapping):
            if isinstance(origin, type) and issubclass(origin, Section):
                return origin.from_tree(value)
            if origin is dict:
                return {key: _built(arguments[1], item) for key, item in value.items()}
        if origin in (float, int) and isinstance(value, float | int) and not isinstance(value, bool):
            return origin(value)
    return copied(value)


def _kinds(annotation: Any) -> Iterator[Any]:
    """Yield the member types of a union, without their `Annotated` metadata."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _kinds(get_args(annotation)[0])
    elif origin in (dict, tuple) or not get_args(annotation):
        yield annotation
    else:
        for each in get_args(annotation):
            yield from _kinds(each)


Text = Annotated[str, ("minLength", 1)]
"""Non-empty text; the annotations are JSON Schema keywords."""
