"""What all sections of the config have in common."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

T = TypeVar("T")


class Section(BaseModel):
    """A part of the config: camelCase in files, snake_case in Python, no surprises from type conversion."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        # A validation error must not print the key that somebody put in the wrong place.
        hide_input_in_errors=True,
        # Built once, as a part of the whole; else each class is built again for every class around it.
        defer_build=True,
    )


# JSON has lists only; strict mode would ask for a Python tuple. What is inside stays strict.
Listed = Annotated[tuple[T, ...], Field(strict=False)]
Text = Annotated[str, Field(min_length=1)]
