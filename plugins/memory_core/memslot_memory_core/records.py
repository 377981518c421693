"""Dataclasses that cost a fiftieth to define, and what else of `typing` is needed at run time, without importing it.

A search from a shell defines thirty of them before it can begin.

`dataclasses` writes and compiles source for six methods of each class, a millisecond in all, and imports `inspect`.
Here the classes share theirs. They look the same from outside: made, compared, shown and frozen alike, and
`dataclasses.replace` and `asdict` take them. There is no inheritance between them; `slots` changes nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from typing import Any
    from typing import NamedTuple as NamedTuple
    from typing import Protocol as Protocol
else:
    from collections import namedtuple

    class Protocol:
        """`typing.Protocol`, which is for the type checker; nothing here asks for it at run time."""

    class _NamedTuples(type):
        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body.pop("__annotations__"))
            defaults = [body.pop(field) for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body.pop("__module__"))
            for each, value in body.items():
                setattr(made, each, value)
            return made

    class NamedTuple(metaclass=_NamedTuples):
        """`typing.NamedTuple`; importing `typing` takes longer than a search."""

    def dataclass(cls=None, *, frozen=False, slots=False):
        """`dataclasses.dataclass`, with the options that are used here."""
        return (lambda each: _define(each, frozen)) if cls is None else _define(cls, frozen)

    def field(*, default=..., default_factory=None, repr=True):
        """`dataclasses.field`, with the options that are used here."""
        return _Default(default, default_factory, repr)


class _Default:
    """What `field` says of one field; no value is `...`, which is nobody's default."""

    def __init__(self, value: Any = ..., make: Callable[[], Any] | None = None, repr: bool = True) -> None:
        self.value, self.make, self.repr = value, make, repr


class _Fields:
    """The class attribute by which `dataclasses` knows its own: made when somebody asks for it."""

    def __init__(self, defaults: dict[str, _Default]) -> None:
        self._defaults = defaults

    def __get__(self, instance: object, owner: type) -> Any:
        import dataclasses

        body: dict[str, Any] = {"__annotations__": owner.__annotations__, "__module__": owner.__module__}
        for name, each in self._defaults.items():
            if each.make is not None:
                body[name] = dataclasses.field(default_factory=each.make, repr=each.repr)
            else:
                value = dataclasses.MISSING if each.value is ... else each.value
                body[name] = dataclasses.field(default=value, repr=each.repr)
        made = dataclasses.dataclass(type(owner.__name__, (), body)).__dataclass_fields__  # type: ignore[attr-defined]
        owner.__dataclass_fields__ = made  # type: ignore[attr-defined]
        return made


def _define(cls: Any, frozen: bool) -> Any:
    names = tuple(cls.__annotations__)
    defaults: dict[str, _Default] = {}
    for name in names:
        if name in cls.__dict__:
            value = cls.__dict__[name]
            defaults[name] = value if isinstance(value, _Default) else _Default(value)
            if isinstance(value, _Default):
                delattr(cls, name)
    cls.__match_args__ = names  # type: ignore[misc]
    cls.__dataclass_fields__ = _Fields(defaults)
    cls.__init__ = _make_init(cls, names, defaults)
    cls.__eq__ = _equal
    cls.__hash__ = _hash if frozen else None
    if "__repr__" not in cls.__dict__:
        cls.__repr__ = _make_repr(tuple(name for name in names if name not in defaults or defaults[name].repr))
    if frozen:
        cls.__setattr__, cls.__delattr__ = _refuse_setting, _refuse_deleting
    return cls


def _make_init(cls: type, names: tuple[str, ...], defaults: dict[str, _Default]) -> Any:
    count, known = len(names), frozenset(names)
    keep = object.__setattr__
    finish = cls.__dict__.get("__post_init__")

    def __init__(self: object, /, *values: Any, **named: Any) -> None:  # noqa: N807
        if values:
            if len(values) > count or not named.keys().isdisjoint(names[: len(values)]):
                raise TypeError(f"{cls.__name__}() was given a field twice, or more than its {count} fields")
            named = {**dict(zip(names, values, strict=False)), **named}
        if len(named) != count:
            for name, each in defaults.items():
                if name not in named:
                    if each.make is not None:
                        named[name] = each.make()
                    elif each.value is not ...:
                        named[name] = each.value
        if named.keys() != known:
            wrong = sorted(known ^ named.keys())
            raise TypeError(f"{cls.__name__}() lacks, or does not have, {', '.join(wrong)}")
        keep(self, "__dict__", named)
        if finish is not None:
            finish(self)

    return __init__


def _make_repr(names: tuple[str, ...]) -> Callable[[Any], str]:
    def __repr__(self: Any) -> str:  # noqa: N807
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({shown})"

    return __repr__


def _values(record: Any) -> tuple[Any, ...]:
    return tuple([record.__dict__[name] for name in record.__match_args__])


def _equal(self: Any, other: object) -> Any:
    return _values(self) == _values(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _refuse_setting(self: object, name: str, value: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deleting(self: object, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")
