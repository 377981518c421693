"""What all sections of the config have in common.

A section is an immutable record that is described once: Python, the checks, the JSON Schema and the docs all read its
fields. pydantic checks a tree where it enters (`check`, `Section.parse`) and is imported only there; a tree that was
checked before is built by `Section.from_tree` alone.
"""

# No `from __future__ import annotations`: from_tree reads the fields' types.

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Self, dataclass_transform, get_args, get_origin

from memslot.config.merge import copied
from memslot.errors import ConfigError


def camel_case(name: str) -> str:
    """A field's key in the file: `max_results` is `maxResults`, `lambda_` is `lambda`."""
    first, *others = name.rstrip("_").split("_")
    return first + "".join(map(str.capitalize, others))


def setting(default: Any, description: str, *, strict: bool = True, shown: bool = True, **limits: Any) -> Any:
    """A field that holds a value; `limits` are keywords of pydantic's Field. With `shown` off it stays out of repr."""
    metadata = {"description": description, "strict": strict, **limits}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=default.copy, repr=shown, metadata=metadata)
    return dataclasses.field(default=default, repr=shown, metadata=metadata)


def choice(default: Any, description: str) -> Any:
    """A field that holds one of several words."""
    return dataclasses.field(default=default, metadata={"description": description})


def items(default: Any, description: str, **limits: Any) -> Any:
    """A field that holds a tuple, or sections by name. JSON has lists only, so this one field is not strict."""
    if default:
        limits["json_schema_extra"] = {"default": _plain(default)}  # pydantic would write the keys as Python has them
    return setting(default, description, strict=False, **limits)


def required(description: str, **limits: Any) -> Any:
    """A field that must be given."""
    return dataclasses.field(metadata={"description": description, **limits})


def section(kind: "type[Section]", description: str) -> Any:
    """A field that holds another section, with all its defaults unless told."""
    return dataclasses.field(default_factory=kind, metadata={"description": description})


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Section:
    """A part of the config: camelCase in files, snake_case in Python, no surprises from type conversion."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "alias_generator": camel_case,
        "extra": "forbid",
        "allow_inf_nan": False,
    }
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    _written: Mapping[str, Any]

    def __init_subclass__(cls) -> None:
        # The methods below serve all sections: generating them for each class takes 30 ms at every start, and so does
        # the docstring that `dataclass` makes up where there is none.
        said, cls.__doc__ = cls.__doc__, " "
        dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
        cls.__doc__ = said

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
        """Settle values that depend on each other."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to {name!r}: a config does not change")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete {name!r}: a config does not change")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __repr__(self) -> str:
        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
        return f"{type(self).__name__}({', '.join(shown)})"

    def _values(self) -> dict[str, Any]:
        return {field.name: self.__dict__[field.name] for field in dataclasses.fields(self)}

    @classmethod
    def parse(cls, tree: Mapping[str, Any]) -> Self:
        """Check a tree with the keys of the file and build the section; raises ConfigError."""
        from pydantic import ValidationError

        try:
            validator(cls)(tree)  # type: ignore[arg-type]  # a class is hashable though its instances are not
        except ValidationError as error:  # its own text holds values, and those may be keys
            faults = error.errors(include_url=False, include_input=False)
            told = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in faults)
            raise ConfigError(f"{cls.__name__} cannot be made of these settings: {told}") from None
        return cls.from_tree(tree)

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> Self:
        """Build the section from a tree that was checked."""
        fields = {_key_of(field): field for field in dataclasses.fields(cls)}
        made = cls(**{fields[key].name: _built(fields[key].type, value) for key, value in tree.items()})
        made.__dict__["_written"] = tree
        return made

    def to_tree(self) -> dict[str, Any]:
        """All settings under the keys of the file, defaults included, as plain JSON data."""
        return {_key_of(field): _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    def written(self) -> dict[str, Any]:
        """Only what somebody set, as they set it: layers merge on this and never on defaults."""
        tree: dict[str, Any] = copied(self._written)
        return tree


@cache
def validator(kind: type[Section]) -> Callable[[Any], Any]:
    """Checks a tree against a section; raises pydantic's ValidationError with every fault."""
    from pydantic import TypeAdapter

    adapter = TypeAdapter(kind)
    return lambda tree: adapter.validate_python(tree, by_alias=True, by_name=False)


def _key_of(field: "dataclasses.Field[Any]") -> str:
    return field.metadata.get("alias") or camel_case(field.name)


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        return value.to_tree()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _built(annotation: Any, value: Any) -> Any:
    """A checked value as its field holds it: lists as tuples, objects as sections, whole numbers as floats."""
    for kind in _kinds(annotation):
        origin, arguments = get_origin(kind) or kind, get_args(kind)
        if origin is tuple and not isinstance(value, str | None):
            return tuple(_built(arguments[0], item) for item in value)
        if isinstance(value, Mapping):
            if isinstance(origin, type) and issubclass(origin, Section):
                return origin.from_tree(value)
            if origin is dict:
                return {key: _built(arguments[1], item) for key, item in value.items()}
        if origin is float and isinstance(value, int):
            return float(value)
    return copied(value)


def _kinds(annotation: Any) -> Iterator[Any]:
    """The types that a union allows, without what `Annotated` says about them."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _kinds(get_args(annotation)[0])
    elif origin in (dict, tuple) or not get_args(annotation):
        yield annotation
    else:
        for each in get_args(annotation):
            yield from _kinds(each)


class _NotEmpty:
    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.str_schema(min_length=1, strict=True)


Text = Annotated[str, _NotEmpty()]
