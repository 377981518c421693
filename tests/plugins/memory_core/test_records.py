"""The cheap dataclasses behave as the real ones do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot_memory_core import records


def define(module: Any, **options: bool) -> Any:
    @module.dataclass(**options)
    class Point:
        """A place."""

        x: int
        y: float = 0.5
        names: list[str] = module.field(default_factory=list)
        hidden: str = module.field(default="h", repr=False)

        @property
        def total(self) -> float:
            return self.x + self.y

    return Point


Frozen, RealFrozen = define(records, frozen=True), define(dataclasses, frozen=True)
Loose, RealLoose = define(records), define(dataclasses)
PAIRS = [(Frozen, RealFrozen), (Loose, RealLoose)]


@records.dataclass(frozen=True)
class Checked:
    """At the top of the module, so that it can be pickled."""

    size: int = 1

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError("too small")


@pytest.mark.parametrize(("ours", "real"), PAIRS)
@given(
    values=st.lists(st.integers(), max_size=5),
    named=st.dictionaries(st.sampled_from(["x", "y", "names", "hidden", "other"]), st.integers(), max_size=5),
)
def test_it_takes_and_refuses_the_same_arguments(
    ours: Any, real: Any, values: list[int], named: dict[str, int]
) -> None:
    try:
        expected = real(*values, **named)
    except TypeError:
        with pytest.raises(TypeError):
            ours(*values, **named)
        return
    made = ours(*values, **named)
    assert dataclasses.asdict(made) == dataclasses.asdict(expected)
    assert repr(made) == repr(expected)
    assert made.total == expected.total
    assert made == ours(*values, **named)
    assert dataclasses.replace(made, x=3).x == 3


@pytest.mark.parametrize(("ours", "real"), PAIRS)
def test_it_is_compared_and_hashed_alike(ours: Any, real: Any) -> None:
    assert ours(1) == ours(1, 0.5)
    assert ours(1) != ours(2)
    assert ours(1) != real(1)
    assert ours(1) != "1"
    assert (ours.__hash__ is None) == (real.__hash__ is None)
    assert Checked(1) == Checked()
    assert len({Checked(1), Checked(), Checked(2)}) == 2
    assert [field.name for field in dataclasses.fields(ours)] == [field.name for field in dataclasses.fields(real)]
    assert dataclasses.is_dataclass(ours)


def test_lists_are_made_for_each() -> None:
    assert Frozen(1).names is not Frozen(1).names


def test_frozen_ones_cannot_be_changed_and_others_can() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Frozen(1).x = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del Frozen(1).x
    loose = Loose(1)
    loose.x = 2
    assert loose.x == 2


def test_it_checks_itself_and_can_be_copied() -> None:
    with pytest.raises(ValueError, match="too small"):
        Checked(-1)
    assert copy.copy(Checked(4)) == pickle.loads(pickle.dumps(Checked(4))) == Checked(4)
    match Checked(4):
        case Checked(size):
            assert size == 4


def test_to_define_one_loads_neither_dataclasses_nor_inspect() -> None:
    code = (
        "import sys\n"
        "from memslot_memory_core.search import ranking\n"
        "print([name for name in ('dataclasses', 'inspect', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
