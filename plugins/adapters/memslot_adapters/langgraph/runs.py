"""Runs of a graph with recall and capture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, convert_to_messages
from memslot import Host, Message, Session

from memslot_adapters.memory_run import Remembering, assistant_message, user_message
from memslot_adapters.tools import ChatType, active_run


def remembering(
    host: Host, prompt: str, *, session: str | Session | None = None, chat_type: ChatType | None = None
) -> RememberingGraph:
    """A context manager for one run of a graph: `with remembering(host, prompt) as memory: memory.invoke(graph)`.

    A node passes what was recalled to the model with `with_recall`.
    """
    return RememberingGraph(host, prompt, session=session, chat_type=chat_type)


def with_recall(messages: Sequence[Any], system_prompt: str = "") -> list[AnyMessage | BaseMessage]:
    """Add what was recalled before the last prompt, and the plugins' prompt sections at the top.

    Use it for the model call only, so that no thread stores it: `model.invoke(with_recall(state["messages"]))`.
    Outside `remembering` the messages are unchanged.
    """
    found = active_run()
    changed: list[AnyMessage | BaseMessage] = list(convert_to_messages(messages))
    if found is not None and found.run.context:
        asked = [place for place, message in enumerate(changed) if isinstance(message, HumanMessage)]
        if asked:
            changed.insert(asked[-1], HumanMessage(found.run.context))
    sections = [part for part in (system_prompt, found.run.system_prompt if found is not None else "") if part]
    if not sections:
        return changed
    if changed and isinstance(changed[0], SystemMessage) and isinstance(changed[0].content, str):
        first = changed.pop(0)
        sections.insert(0, str(first.content))
    return [SystemMessage("\n\n".join(sections)), *changed]


class RememberingGraph(Remembering):
    """Returned by `remembering`."""

    def __init__(self, host: Host, prompt: str, **options: Any) -> None:
        super().__init__(host, prompt, **options)
        self._answers: list[str] = []

    @property
    def input(self) -> dict[str, Any]:
        """The prompt as input for a graph of messages, for `graph.stream(memory.input)`."""
        return {"messages": [HumanMessage(self.prompt)]}

    def invoke(self, graph: Any, config: Any = None, **options: Any) -> Any:
        """`graph.invoke` with the prompt."""
        state = graph.invoke(self.input, config, **options)
        self.finish(state)
        return state

    async def ainvoke(self, graph: Any, config: Any = None, **options: Any) -> Any:
        """The async twin of invoke."""
        state = await graph.ainvoke(self.input, config, **options)
        self.finish(state)
        return state

    def finish(self, messages: Mapping[str, Any] | Sequence[Any]) -> None:
        """Report the last state or its messages, if you run the graph in another way."""
        found = messages.get("messages", ()) if isinstance(messages, Mapping) else messages
        plain = convert_to_messages(found)
        asked = [place for place, message in enumerate(plain) if isinstance(message, HumanMessage)]
        since = plain[asked[-1] :] if asked else plain
        self._answers = [str(each.text) for each in since if isinstance(each, AIMessage) and each.text]

    def said(self) -> Sequence[Message]:
        return [user_message(self.prompt), *map(assistant_message, self._answers)]
