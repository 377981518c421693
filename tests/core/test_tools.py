"""Tools: what a model may send, what comes back, and the shapes that APIs want."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import inspect
import json
import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memslot import Session, Tool, ToolCall, ToolError, ToolResult
from memslot.errors import ToolArgumentsError
from pydantic import BaseModel, ConfigDict, Field, field_validator


class Place(BaseModel):
    model_config = ConfigDict(extra="forbid")

    city: str = Field(min_length=1, description="Where.")
    days: int = Field(1, ge=1, le=7)
    tags: list[str] = []


PLACE_SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["city"],
    "additionalProperties": False,
}
PARAMETERS = {"model": Place, "schema": PLACE_SCHEMA}
CALL = ToolCall(Session("main"))


def make_tool(parameters: Any = PLACE_SCHEMA, execute: Any = lambda args: args, **more: Any) -> Tool:
    return Tool(
        name=more.pop("name", "forecast"),
        description="Say the weather; use it when somebody asks.",
        parameters=parameters,
        execute=execute,
        **more,
    )


@pytest.fixture(params=sorted(PARAMETERS))
def tool(request: pytest.FixtureRequest) -> Tool:
    """The same tool, described by a pydantic model and by a JSON Schema."""
    return make_tool(PARAMETERS[request.param])


def refusal(tool: Tool, args: Any) -> str:
    with pytest.raises(ToolArgumentsError) as caught:
        tool.parse_arguments(args)
    return str(caught.value)


# What `execute` is handed


def test_model_parameters_give_execute_an_instance_with_defaults() -> None:
    assert make_tool(Place).parse_arguments({"city": "Rome"}) == Place(city="Rome", days=1, tags=[])


def test_schema_parameters_give_execute_the_plain_dict() -> None:
    assert make_tool(PLACE_SCHEMA).parse_arguments({"city": "Rome"}) == {"city": "Rome"}


def test_execute_may_take_the_arguments_alone() -> None:
    assert make_tool(execute=lambda args: args["city"]).invoke({"city": "Rome"}, CALL) == "Rome"


def test_execute_that_takes_two_is_told_who_calls() -> None:
    def execute(args: dict[str, Any], call: ToolCall) -> str:
        return call.session.agent_id

    assert make_tool(execute=execute).invoke({}, CALL) == "main"


def test_a_second_parameter_with_a_default_is_the_tools_own_business() -> None:
    made = [make_tool(execute=lambda args, number=number: number) for number in range(3)]
    assert [tool.invoke({}, CALL) for tool in made] == [0, 1, 2]


def test_a_bound_method_counts_its_arguments_without_self() -> None:
    class Weather:
        def one(self, args: Any) -> int:
            return 1

        def two(self, args: Any, call: ToolCall) -> Session:
            return call.session

    weather = Weather()
    assert make_tool(execute=weather.one).invoke({}, CALL) == 1
    assert make_tool(execute=weather.two).invoke({}, CALL) is CALL.session


def test_an_async_execute_gives_its_coroutine() -> None:
    async def execute(args: Any, call: ToolCall) -> str:
        await asyncio.sleep(0)
        return f"{args['city']} for {call.session.agent_id}"

    value = make_tool(execute=execute).invoke({"city": "Rome"}, CALL)
    assert inspect.iscoroutine(value)
    assert asyncio.run(value) == "Rome for main"


def test_a_callable_without_a_signature_gets_the_arguments_alone() -> None:
    assert make_tool(execute=dict).invoke({"city": "Rome"}, CALL) == {"city": "Rome"}


# What a model may send, and what it is told when it is wrong


@pytest.mark.parametrize(
    "args", [{"city": "Rome", "days": 2}, '{"city": "Rome", "days": 2}', ' {"city":"Rome","days":2}\n']
)
def test_arguments_may_be_an_object_or_json_text(tool: Tool, args: Any) -> None:
    parsed = tool.parse_arguments(args)
    assert (parsed if isinstance(parsed, dict) else parsed.model_dump(exclude_unset=True)) == {
        "city": "Rome",
        "days": 2,
    }


@pytest.mark.parametrize("nothing", [None, "", "  \n", "null", {}, "{}"])
def test_no_arguments_are_an_empty_object(nothing: Any) -> None:
    assert make_tool({"type": "object"}).parse_arguments(nothing) == {}


def test_a_missing_argument_is_named(tool: Tool) -> None:
    said = refusal(tool, {"days": 2})
    assert re.search(r"^forecast: city\b.*required", said, re.IGNORECASE)


def test_a_wrong_type_names_the_key_and_what_is_due(tool: Tool) -> None:
    said = refusal(tool, {"city": "Rome", "days": "many"})
    assert "days" in said
    assert "integer" in said


def test_an_unknown_key_is_named(tool: Tool) -> None:
    assert "citty" in refusal(tool, {"city": "Rome", "citty": "Rome"})


def test_a_near_miss_of_a_schema_key_is_answered_with_the_right_one() -> None:
    assert 'did you mean "days"?' in refusal(make_tool(PLACE_SCHEMA), {"city": "Rome", "dayz": 2})


def test_a_number_out_of_range_says_the_limit(tool: Tool) -> None:
    said = refusal(tool, {"city": "Rome", "days": 8})
    assert "days" in said
    assert "7" in said


def test_all_faults_are_told_at_once(tool: Tool) -> None:
    said = refusal(tool, {"days": 0, "tags": [1], "x": 1})
    assert all(word in said for word in ("city", "days", "tags", "x"))


def test_a_fault_inside_a_list_says_which_item(tool: Tool) -> None:
    assert re.search(r"tags(\.1|\[1\])", refusal(tool, {"city": "Rome", "tags": ["a", 5]}))


@pytest.mark.parametrize("text", ["{", "{'city': 'Rome'}", '{"city": "Rome"', "city=Rome", "[" * 100_000])
def test_invalid_json_text_is_refused_with_a_sentence(tool: Tool, text: str) -> None:
    said = refusal(tool, text)
    assert said.startswith("forecast: the arguments are not valid JSON: ")
    assert len(said) < 300


@pytest.mark.parametrize(
    ("args", "kind"),
    [
        ([1], "an array"),
        ("[]", "an array"),
        ("5", "a number"),
        (True, "a boolean"),
        ('"x"', "a string"),
        (2.5, "a number"),
    ],
)
def test_anything_but_an_object_is_refused(tool: Tool, args: Any, kind: str) -> None:
    assert refusal(tool, args) == f"forecast: the arguments must be one JSON object, not {kind}"


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_is_refused_where_one_is_due(tool: Tool, number: float) -> None:
    assert "days" in refusal(tool, {"city": "Rome", "days": number})


def test_nan_in_json_text_is_refused(tool: Tool) -> None:
    assert "days" in refusal(tool, '{"city": "Rome", "days": NaN}')


def nested(depth: int) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for _ in range(depth):
        tree = {"tags": tree}
    return tree


@pytest.mark.parametrize("depth", [200, 5_000])
def test_deeply_nested_arguments_are_refused_not_crashed_on(tool: Tool, depth: int) -> None:
    assert len(refusal(tool, {"city": "Rome", **nested(depth)})) < 1_000


@pytest.mark.parametrize(
    "args",
    [
        {"\udfff": 1},
        {1: 2},
        {"city": "Rome", "days": {1, 2}},
        {"city": "Rome", "days": b"two"},
        {"city": "Rome", "days": object()},
        {"city": "Rome", "tags": {None: []}},
    ],
    ids=["surrogate-key", "int-key", "set", "bytes", "object", "none-key"],
)
def test_what_json_cannot_hold_is_refused_with_a_sentence(tool: Tool, args: Any) -> None:
    assert refusal(tool, args).startswith("forecast: ")


def test_a_validator_of_the_model_that_breaks_is_a_refusal_too() -> None:
    class Broken(BaseModel):
        city: str

        @field_validator("city")
        @classmethod
        def _look_up(cls, value: str) -> str:
            return {"Rome": "it"}[value]  # KeyError is no ValidationError

    assert refusal(make_tool(Broken), {"city": "Atlantis"}).startswith("forecast: ")


def test_a_refusal_does_not_repeat_a_huge_value(tool: Tool) -> None:
    assert len(refusal(tool, {"city": ["x" * 1_000_000]})) < 500


def test_parsing_leaves_the_callers_arguments_as_they_were(tool: Tool) -> None:
    args = {"city": "Rome", "tags": ["a"]}
    tool.parse_arguments(args)
    assert args == {"city": "Rome", "tags": ["a"]}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
odd_text = st.text(st.characters(categories=["Cs", "Ll", "Cc"]), max_size=4)
known_keys = st.sampled_from(["city", "days", "tags"])


@pytest.mark.parametrize("kind", sorted(PARAMETERS))
@settings(max_examples=200, deadline=None)
@given(
    args=json_values
    | st.dictionaries(known_keys, json_values, max_size=3)
    | st.text()
    | st.text(alphabet='{}[]":,0123456789eE+-.ntrufalsicday \\ud8')
    | json_values.map(json.dumps)
    | st.dictionaries(known_keys | odd_text, odd_text | json_values, max_size=3)
)
def test_arguments_are_parsed_or_refused_and_nothing_else(kind: str, args: Any) -> None:
    tool = make_tool(PARAMETERS[kind])
    try:
        parsed = tool.parse_arguments(args)
    except ToolArgumentsError as error:
        outcome = str(error)
    else:
        outcome = f"forecast: parsed {(parsed if isinstance(parsed, dict) else parsed.model_dump())['city']}"
    assert re.match(r"forecast: \S", outcome)


# What comes back


@dataclasses.dataclass
class Weather:
    city: str
    days: list[int]


class Report(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    max_days: int = Field(alias="maxDays")
    at: datetime.date


@pytest.mark.parametrize(
    ("value", "text", "data"),
    [
        ("sunny", "sunny", None),
        ("", "", None),
        (None, "done", None),
        ({"city": "Zürich"}, '{"city": "Zürich"}', {"city": "Zürich"}),
        ([1, 2], "[1, 2]", [1, 2]),
        (5, "5", 5),
        (False, "false", False),
        (Weather("Rome", [1]), '{"city": "Rome", "days": [1]}', {"city": "Rome", "days": [1]}),
        (
            Report(maxDays=3, at=datetime.date(2024, 5, 1)),
            '{"maxDays": 3, "at": "2024-05-01"}',
            {"maxDays": 3, "at": "2024-05-01"},
        ),
    ],
    ids=["text", "empty", "none", "dict", "list", "number", "boolean", "dataclass", "model"],
)
def test_a_returned_value_becomes_text_for_the_model_and_plain_data(value: Any, text: str, data: Any) -> None:
    assert make_tool().render(value) == ToolResult(text=text, data=data)


def test_what_json_does_not_know_is_shown_as_text() -> None:
    result = make_tool().render({"at": datetime.date(2024, 5, 1)})
    assert json.loads(result.text) == {"at": "2024-05-01"}


@pytest.mark.parametrize(
    "value",
    [
        {"at": datetime.date(2024, 5, 1)},
        Weather("Rome", {1, 2}),  # type: ignore[arg-type]
        {"deep": [object()]},
        {"number": math.nan},
        [Report(maxDays=1, at=datetime.date(2024, 5, 1))],
    ],
    ids=["date", "set-in-dataclass", "object", "nan", "model-in-list"],
)
def test_data_and_text_are_plain_json_that_any_api_takes(value: Any) -> None:
    result = make_tool().render(value)
    assert json.loads(json.dumps(result.data, allow_nan=False)) == json.loads(result.text, parse_constant=pytest.fail)


def test_a_list_of_models_is_rendered_as_data_not_as_python() -> None:
    result = make_tool().render([Report(maxDays=1, at=datetime.date(2024, 5, 1))])
    assert json.loads(result.text) == [{"maxDays": 1, "at": "2024-05-01"}]


def test_a_tool_may_return_its_own_result() -> None:
    own = ToolResult("no such city", data={"code": 404}, is_error=True)
    assert make_tool().render(own) == own


@pytest.mark.parametrize("letter", ["x", "é", "語", "😀"])
def test_text_of_exactly_the_limit_is_left_whole(letter: str) -> None:
    tool = make_tool(max_result_chars=100)
    assert tool.render(letter * 100) == ToolResult(letter * 100)


@pytest.mark.parametrize("letter", ["x", "é", "語", "😀"])
@pytest.mark.parametrize("length", [101, 5_000])
def test_longer_text_is_cut_to_the_limit_and_says_so(letter: str, length: int) -> None:
    result = make_tool(max_result_chars=100).render(letter * length)
    assert result.truncated
    assert len(result.text) <= 100
    assert result.text.startswith(letter)
    assert f"{length} characters" in result.text
    assert result.text.encode()


@pytest.mark.parametrize("limit", [1, 10, 30])
def test_a_tiny_limit_holds_too(limit: int) -> None:
    assert len(make_tool(max_result_chars=limit).render("x" * 1_000).text) <= limit


def test_data_that_was_cut_is_not_handed_out_whole_beside_it() -> None:
    result = make_tool(max_result_chars=100).render({"x": "y" * 1_000})
    assert result.truncated
    assert result.data is None


def test_a_tools_own_result_is_cut_too_and_stays_an_error() -> None:
    result = make_tool(max_result_chars=100).render(ToolResult("x" * 1_000, data=[1], is_error=True))
    assert result.truncated
    assert result.is_error
    assert len(result.text) <= 100


# The shapes that APIs document


def make_annotated() -> Tool:
    return make_tool(Place, title="Forecast", read_only=True)


def test_the_openai_shape() -> None:
    tool = make_annotated()
    assert tool.to_openai() == {
        "type": "function",
        "function": {"name": "forecast", "description": tool.description, "parameters": tool.schema},
    }


def test_the_anthropic_shape() -> None:
    tool = make_annotated()
    assert tool.to_anthropic() == {"name": "forecast", "description": tool.description, "input_schema": tool.schema}


def test_the_mcp_shape() -> None:
    tool = make_annotated()
    assert tool.to_mcp() == {
        "name": "forecast",
        "description": tool.description,
        "inputSchema": tool.schema,
        "annotations": {
            "title": "Forecast",
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }


def test_mcp_annotations_follow_the_tools_own_marks() -> None:
    marks = make_tool(destructive=True).to_mcp()["annotations"]
    assert (marks["readOnlyHint"], marks["destructiveHint"], marks["idempotentHint"]) == (False, True, False)
    assert "title" not in marks
    assert make_tool(idempotent=True).to_mcp()["annotations"]["idempotentHint"] is True


@pytest.mark.parametrize(
    "parameters", [Place, PLACE_SCHEMA, {}, {"type": "object"}], ids=["model", "schema", "empty", "bare"]
)
@pytest.mark.parametrize("export", ["to_openai", "to_anthropic", "to_mcp"])
def test_every_shape_is_json_with_an_object_schema(parameters: Any, export: str) -> None:
    shape = getattr(make_tool(parameters), export)()
    assert json.loads(json.dumps(shape)) == shape
    inner = shape.get("function", shape)
    schema = inner.get("parameters") or inner.get("input_schema") or inner.get("inputSchema")
    assert schema["type"] == "object"
    assert isinstance(schema["properties"], dict)


def test_exporting_does_not_change_the_schema_a_plugin_passed() -> None:
    passed: dict[str, Any] = {}
    tool = make_tool(passed)
    tool.to_mcp()
    assert passed == {}


def test_what_a_caller_does_to_an_export_stays_with_the_caller() -> None:
    tool = make_tool(PLACE_SCHEMA)
    tool.to_openai()["function"]["parameters"]["properties"].clear()
    tool.to_openai()["function"]["parameters"].clear()
    assert tool.to_anthropic()["input_schema"]["properties"].keys() == {"city", "days", "tags"}
    assert PLACE_SCHEMA["properties"]


def test_a_models_aliases_are_the_names_a_model_sees() -> None:
    class Aliased(BaseModel):
        from_line: int = Field(alias="from")

    tool = make_tool(Aliased)
    assert set(tool.schema["properties"]) == {"from"}
    assert tool.parse_arguments({"from": 3}).from_line == 3
    assert "from" in refusal(tool, {})


def test_titles_made_from_names_are_dropped_and_a_property_named_title_stays() -> None:
    class Inner(BaseModel):
        title: str

    class Book(BaseModel):
        title: str = Field(description="What is on the cover.")
        inner: Inner
        many: list[Inner] = []
        either: Inner | None = None

    schema = make_tool(Book).schema
    assert set(schema["properties"]) == {"title", "inner", "many", "either"}
    assert schema["properties"]["title"] == {"type": "string", "description": "What is on the cover."}
    assert schema["$defs"]["Inner"] == {
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
    }
    assert "title" not in schema


def test_a_title_in_a_default_or_an_example_is_data_and_stays() -> None:
    class Book(BaseModel):
        page: dict[str, str] = Field({"title": "Index"}, examples=[{"title": "Cover"}])

    page = make_tool(Book).schema["properties"]["page"]
    assert page["default"] == {"title": "Index"}
    assert page["examples"] == [{"title": "Cover"}]


def test_a_property_named_properties_is_still_a_property() -> None:
    class Odd(BaseModel):
        properties: dict[str, str]

    schema = make_tool(Odd).schema
    assert schema["properties"]["properties"] == {"type": "object", "additionalProperties": {"type": "string"}}


# Tools that are not ones


@pytest.mark.parametrize("name", ["", "two words", "a" * 65, "naïve", "a.b", "x\n", None, 5])
def test_a_bad_name_is_refused(name: Any) -> None:
    with pytest.raises(ToolError, match=r"1 to 64 letters, digits, _ or -") as caught:
        make_tool(name=name)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize("name", ["a", "a" * 64, "memory_search", "get-2", "A1"])
def test_a_good_name_is_taken(name: str) -> None:
    assert make_tool(name=name).name == name


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"description": "  "}, "needs a description"),
        ({"description": None}, "needs a description"),
        ({"execute": "not callable"}, "needs a callable `execute`"),
        ({"parameters": [1]}, "must be a pydantic model or a JSON Schema"),
        ({"parameters": int}, "must be a pydantic model or a JSON Schema"),
        ({"parameters": Place(city="Rome")}, "must be a pydantic model or a JSON Schema"),
    ],
    ids=["blank", "none", "text", "list", "class", "instance"],
)
def test_a_bad_definition_is_refused_with_a_sentence_that_names_the_tool(change: dict[str, Any], said: str) -> None:
    parts = {"name": "forecast", "description": "d", "parameters": {}, "execute": print, **change}
    with pytest.raises(ToolError, match=re.escape(said)) as caught:
        Tool(**parts)
    assert "'forecast'" in str(caught.value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"properties": {"a": {"type": "strin"}}},
        {"properties": 5},
        {"properties": {"a": {"$ref": "https://example.org/schema.json"}}},
        {"$schema": "http://json-schema.org/draft-04/schema#"},
        {"properties": {"a": {"pattern": "("}}},
    ],
    ids=["array", "type", "properties", "remote", "dialect", "pattern"],
)
def test_a_schema_that_cannot_be_used_is_refused_with_a_sentence(schema: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match=r"^tool 'forecast': the parameters' schema "):
        make_tool(schema).check_schema()


@pytest.mark.parametrize("parameters", [Place, PLACE_SCHEMA, {}])
def test_a_good_schema_passes(parameters: Any) -> None:
    make_tool(parameters).check_schema()
