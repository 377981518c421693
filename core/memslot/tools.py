"""Tools: what an agent can call. One description each, exported to every API's shape."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from memslot.diagnostics import describe_error
from memslot.errors import ToolArgumentsError, ToolError
from memslot.events import CHAT_TYPES
from memslot.invisible import visible, visible_data
from memslot.text import one_line

if TYPE_CHECKING:
    from pydantic import BaseModel
    from typing_extensions import TypeIs

    from memslot.events import ChatType, Session

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
MAX_RESULT_CHARS = 50_000
TIMEOUT_SECONDS = 60.0
_LONGEST_REFUSAL = 1000


@dataclass(frozen=True)
class ToolCall:
    """The caller: passed to a tool's `execute` as the second argument if it takes two."""

    session: Session


@dataclass(frozen=True)
class ToolResult:
    """A tool's result: `text` is for the model; `data` is the same as JSON data, unless truncated."""

    text: str
    data: Any = None
    is_error: bool = False
    truncated: bool = False


@dataclass(frozen=True)
class Tool:
    """Something an agent can call.

    `parameters` is a pydantic model, and `execute` then gets an instance of it, or a JSON Schema
    of type object, and `execute` gets a dict. `execute` may be `async def`, and may take a
    `ToolCall` as a second argument. It returns text or anything that can be turned into JSON.
    """

    name: str
    description: str
    parameters: type[BaseModel] | Mapping[str, Any]
    execute: Callable[..., Any]
    title: str | None = None
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False
    """Whether it reaches beyond this machine's memory, such as to the web."""
    chat_types: tuple[ChatType, ...] | None = None
    max_result_chars: int = MAX_RESULT_CHARS
    timeout_seconds: float = TIMEOUT_SECONDS

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ToolError(f"a tool's name must be 1 to 64 letters, digits, _ or -, not {self.name!r}")
        if not isinstance(self.description, str) or not self.description.strip():
            raise ToolError(f"tool {self.name!r} needs a description that tells the model when to use it")
        if not callable(self.execute):
            raise ToolError(f"tool {self.name!r} needs a callable `execute`")
        if not _is_model(self.parameters) and not isinstance(self.parameters, Mapping):
            raise ToolError(f"tool {self.name!r}: `parameters` must be a pydantic model or a JSON Schema")
        if self.chat_types is not None and not set(_listed(self.chat_types)) <= set(CHAT_TYPES):
            raise ToolError(f"tool {self.name!r}: `chat_types` must be a tuple of {', '.join(CHAT_TYPES)}")
        for limit in (self.max_result_chars, self.timeout_seconds):
            if not isinstance(limit, int | float) or limit <= 0:
                raise ToolError(f"tool {self.name!r}: its limits must be numbers above 0")

    @property
    def schema(self) -> dict[str, Any]:
        """The parameters as a JSON Schema of type object; a copy, which the caller may change."""
        return copy.deepcopy(self._schema)

    @cached_property
    def _schema(self) -> dict[str, Any]:
        if _is_model(self.parameters):
            schema: dict[str, Any] = _without_titles(self.parameters.model_json_schema(by_alias=True))
        else:
            schema = copy.deepcopy(dict(self.parameters))
        schema.setdefault("type", "object")
        schema.setdefault("properties", {})
        return schema

    def check_schema(self) -> None:
        """Raise a ToolError if the schema itself is not valid JSON Schema 2020-12."""
        from memslot.config.schema import schema_fault

        if self._schema.get("type") != "object":
            raise ToolError(f"tool {self.name!r}: the parameters' schema must have type object")
        if (fault := schema_fault(self._schema)) is not None:
            raise ToolError(f"tool {self.name!r}: the parameters' schema is not valid: {fault}")

    def read_arguments(self, args: Any) -> dict[str, Any]:
        """The arguments as a dict, whether the model sent JSON text, an object or nothing."""
        if isinstance(args, str):
            args = _parse_json(self.name, args)
        if args is None:
            return {}
        if not isinstance(args, Mapping):
            raise self._refuse(f"the arguments must be one JSON object, not {_kind(args)}")
        return dict(args)

    def parse_arguments(self, args: Any) -> Any:
        """Return what `execute` expects, or raise a ToolArgumentsError that a model can act on."""
        plain = self.read_arguments(args)
        try:
            if _is_model(self.parameters):
                return self._as_model(self.parameters, plain)
            return self._checked(plain)
        except ToolArgumentsError:
            raise
        except Exception as error:  # not plain JSON, nested too deeply, or a validator of the model broke
            raise self._refuse(f"the arguments cannot be read: {describe_error(error)}") from None

    def _checked(self, args: dict[str, Any]) -> dict[str, Any]:
        from memslot.config.schema import check_settings

        faults = check_settings(self._schema, args)
        if faults:
            raise self._refuse("; ".join(str(fault) for fault in faults))
        return args

    def _as_model(self, model: type[BaseModel], args: dict[str, Any]) -> BaseModel:
        from pydantic import ValidationError

        try:
            return model.model_validate(args)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_input=False, include_context=False)
        places = (".".join(str(part) for part in fault["loc"]) or "arguments" for fault in faults)
        raise self._refuse("; ".join(f"{place}: {fault['msg']}" for place, fault in zip(places, faults, strict=True)))

    def _refuse(self, why: str) -> ToolArgumentsError:
        return ToolArgumentsError(one_line(f"{self.name}: {why}", _LONGEST_REFUSAL))

    def invoke(self, args: Any, call: ToolCall) -> Any:
        """Call `execute` with parsed arguments; return its value, or its coroutine."""
        return self.execute(args, call) if self._takes_call else self.execute(args)

    @cached_property
    def _takes_call(self) -> bool:
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        try:
            parameters = inspect.signature(self.execute).parameters.values()
        except (TypeError, ValueError):
            return False
        second = [p for p in parameters if p.kind in kinds][1:2]
        return bool(second) and (second[0].name == "call" or second[0].default is inspect.Parameter.empty)

    def render(self, value: Any) -> ToolResult:
        """Turn what `execute` returned into a result no longer than the tool allows."""
        if isinstance(value, ToolResult):
            if not isinstance(value.text, str):
                raise ToolError(f"it returned a ToolResult whose text is {type(value.text).__name__}")
            seen = dataclasses.replace(value, text=visible(value.text), data=visible_data(value.data))
            return self._limit(self._limit_data(seen))
        if value is None:
            value = "done"
        if isinstance(value, str):
            return self._limit(ToolResult(visible(value)))
        from pydantic_core import to_jsonable_python

        data = visible_data(to_jsonable_python(value, by_alias=True, inf_nan_mode="null", serialize_unknown=True))
        return self._limit(ToolResult(json.dumps(data, ensure_ascii=False, allow_nan=False), data))

    def _limit(self, result: ToolResult) -> ToolResult:
        if len(result.text) <= self.max_result_chars:
            return result
        note = f"\n[cut: {len(result.text)} characters, {self.max_result_chars} shown]"
        kept = (result.text[: max(0, self.max_result_chars - len(note))] + note)[: self.max_result_chars]
        return dataclasses.replace(result, text=kept, data=None, truncated=True)

    def _limit_data(self, result: ToolResult) -> ToolResult:
        """A result that the tool made itself may carry more data than its text shows."""
        if (
            result.data is None
            or len(json.dumps(result.data, default=str, ensure_ascii=False)) <= self.max_result_chars
        ):
            return result
        return dataclasses.replace(result, data=None, truncated=True)

    def to_openai(self) -> dict[str, Any]:
        """The shape of OpenAI's chat completions API and of everything compatible with it."""
        function = {"name": self.name, "description": self.description, "parameters": self.schema}
        return {"type": "function", "function": function}

    def to_anthropic(self) -> dict[str, Any]:
        """The shape of Anthropic's messages API."""
        return {"name": self.name, "description": self.description, "input_schema": self.schema}

    def to_mcp(self) -> dict[str, Any]:
        """The shape of the Model Context Protocol's tools/list."""
        annotations: dict[str, Any] = {
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent or self.read_only,
            "openWorldHint": self.open_world,
        }
        if self.title:
            annotations["title"] = self.title
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.schema,
            "annotations": annotations,
        }


def _listed(value: Any) -> list[Any]:
    """The items of a list or tuple of texts; anything else is one odd item."""
    return list(value) if isinstance(value, list | tuple) and all(isinstance(i, str) for i in value) else [None]


def _is_model(value: object) -> TypeIs[type[BaseModel]]:
    """Whether a value is a pydantic model class, checked without importing pydantic."""
    return isinstance(value, type) and hasattr(value, "model_json_schema")


def _without_titles(node: Any) -> Any:
    """Drop the titles pydantic makes from names: they cost tokens and say nothing new.

    Only where a schema is expected: a property may be named title, and a default or an example may contain one.
    """
    if isinstance(node, list):
        return [_without_titles(item) for item in node]
    if not isinstance(node, dict):
        return node
    cleaned = {}
    for key, value in node.items():
        if key in ("properties", "$defs", "patternProperties") and isinstance(value, dict):
            cleaned[key] = {name: _without_titles(sub) for name, sub in value.items()}
        elif key in ("default", "examples", "const", "enum"):
            cleaned[key] = value
        elif key != "title":
            cleaned[key] = _without_titles(value)
    return cleaned


def _parse_json(name: str, text: str) -> Any:
    """Models send arguments as JSON text; none at all is an empty object."""
    try:
        return json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ToolArgumentsError(f"{name}: the arguments are not valid JSON: {error}") from None


def _kind(value: Any) -> str:
    names = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)
