"""Tools that are right, and tools that are wrong in one way each; run by test_tool_contract.py."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Mapping
from typing import Any

from memslot import Tool, ToolResult
from memslot.testing import ToolContract
from pydantic import BaseModel, ConfigDict, Field


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1)
    times: int = 1


SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {"text": {"type": "string"}, "times": {"type": "integer"}},
}


class Base(ToolContract):
    parameters: Any = Arguments
    options: Mapping[str, Any] = {}

    def make_tool(self):
        return Tool("echo", "Say it again.", self.parameters, self.execute, **self.options)

    def good_arguments(self):
        return {"text": "hello", "times": 2}

    def execute(self, args) -> Any:
        return {"said": args.text * args.times}


class TestGood(Base):
    pass


class TestGoodWithSchema(Base):
    parameters = SCHEMA

    def execute(self, args):
        return f"{args['text']} said"


class TestGoodAsync(Base):
    async def execute(self, args):
        return {"said": args.text}


class TestGoodThatTakesNothing(Base):
    parameters = {"type": "object", "additionalProperties": False}  # noqa: RUF012

    def good_arguments(self):
        return {}

    def execute(self, args):
        return "pong"


class TestGoodLong(Base):
    """The host cuts what is too long."""

    options = {"max_result_chars": 500}  # noqa: RUF012

    def execute(self, args):
        return "long " * 10_000


class TestGoodErrorThatSaysFailed(Base):
    """An error that a tool returns on purpose may use any words."""

    def execute(self, args):
        if not args.text.isascii():
            return ToolResult("the search failed: write it in ASCII", is_error=True)
        return "said"


class TestBadSchema(Base):
    parameters = {"type": "object", "properties": {"text": {"type": "wurst"}}}  # noqa: RUF012


class TestNotJson(Base):
    parameters = {"type": "object", "properties": {"text": {"type": "string", "default": float("nan")}}}  # noqa: RUF012

    def execute(self, args):
        return "said"


class TestHarmlessAndDestructive(Base):
    options = {"read_only": True, "destructive": True}  # noqa: RUF012


class TestRaises(Base):
    def execute(self, args):
        raise RuntimeError("out of order")


class TestSaysNothing(Base):
    def execute(self, args):
        return ""


class TestTooSlow(Base):
    options = {"timeout_seconds": 0.05}  # noqa: RUF012

    def execute(self, args):
        time.sleep(0.5)
        return "late"


class TestDataIsNoJson(Base):
    def execute(self, args):
        return ToolResult("fine", data={1, 2, 3})


class TestIgnoresUnknownArguments(Base):
    class parameters(BaseModel):  # noqa: N801
        text: str
        times: int = 1


class TestTakesAnything(Base):
    """No schema worth the name: wrong calls reach the code and crash there."""

    parameters = {"type": "object"}  # noqa: RUF012

    def execute(self, args):
        return args["text"].upper()


class TestTypesOnlyInTheHead(Base):
    """The schema says which types it wants, the model class does not care."""

    class parameters(Arguments):  # noqa: N801
        times: Any = Field(1, json_schema_extra={"type": "integer"})

    def execute(self, args):
        return args.text * args.times


class TestAsciiOnly(Base):
    def execute(self, args):
        return args.text.encode("ascii").decode()


class TestOneAtATime(Base):
    busy = threading.Lock()

    def execute(self, args):
        if not self.busy.acquire(blocking=False):
            raise RuntimeError("already running")
        try:
            time.sleep(0.05)
            return "said"
        finally:
            self.busy.release()


class TestWorksOnce(Base):
    def make_tool(self):
        count = itertools.count()

        def execute(args):
            return "said" if next(count) == 0 else ToolResult("used up", is_error=True)

        return Tool("echo", "Say it again.", Arguments, execute)
