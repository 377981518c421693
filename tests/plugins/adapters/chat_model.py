"""A scripted chat model for LangGraph, and a small graph with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from memslot_adapters.langgraph import with_recall
from pydantic import PrivateAttr


class ScriptedChat(BaseChatModel):
    """Answers with the next message of a script, and keeps what it was given."""

    _answers: list[AIMessage] = PrivateAttr()
    _requests: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _tools: list[dict[str, Any]] = PrivateAttr(default_factory=list)

    def __init__(self, answers: Sequence[AIMessage]) -> None:
        super().__init__()
        self._answers = list(answers)

    @property
    def requests(self) -> list[list[BaseMessage]]:
        return self._requests

    @property
    def tools(self) -> list[dict[str, Any]]:
        return self._tools

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Runnable[Any, AIMessage]:
        self._tools = [convert_to_openai_tool(tool) for tool in tools]
        return self  # type: ignore[return-value]

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **options: Any,
    ) -> ChatResult:
        self._requests.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self._answers.pop(0))])


def say(text: str) -> AIMessage:
    return AIMessage(text)


def call(name: str, arguments: dict[str, Any], number: int = 0) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call_{number}"}])


def make_graph(model: BaseChatModel, tools: Sequence[BaseTool], **options: Any) -> Any:
    """The usual loop of a model and its tools, in which the model is given what was recalled."""
    bound = model.bind_tools(tools)

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [bound.invoke(with_recall(state["messages"], "Be brief."))]}

    return _loop(ask, tools, **options)


def make_async_graph(model: BaseChatModel, tools: Sequence[BaseTool], **options: Any) -> Any:
    bound = model.bind_tools(tools)

    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(with_recall(state["messages"], "Be brief."))]}

    return _loop(ask, tools, **options)


def _loop(ask: Callable[[MessagesState], Any], tools: Sequence[BaseTool], **options: Any) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", tools_condition)
    graph.add_edge("tools", "ask")
    return graph.compile(**options)
