"""Runs of the SDK with recall and capture."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from typing import Any

from agents import Agent, ItemHelpers, MessageOutputItem, RunConfig, Runner, RunResult, RunResultStreaming
from agents.run_config import CallModelData, CallModelInputFilter, ModelInputData
from memslot import Host, Message, Session

from memslot_adapters.memory_run import Remembering, assistant_message, user_message
from memslot_adapters.openai_agents.session import MemorySession
from memslot_adapters.tools import ChatType


def remembering(
    host: Host,
    prompt: str,
    *,
    session: MemorySession | str | Session | None = None,
    chat_type: ChatType | None = None,
) -> RememberingRun:
    """A context manager for one run: `async with remembering(host, prompt) as memory: await memory.run(agent)`.

    Only the model sees what was recalled; the session keeps what was said.
    """
    return RememberingRun(host, prompt, session=session, chat_type=chat_type)


class RememberingRun(Remembering):
    """Returned by `remembering`: the SDK's `Runner` with a memory."""

    def __init__(
        self, host: Host, prompt: str, *, session: MemorySession | str | Session | None, chat_type: ChatType | None
    ) -> None:
        self.session = session if isinstance(session, MemorySession) else None
        place = session.place if isinstance(session, MemorySession) else session
        super().__init__(host, prompt, session=place, chat_type=chat_type)
        self._result: RunResult | RunResultStreaming | None = None

    async def run(self, agent: Agent[Any], input: Any = None, **options: Any) -> RunResult:
        """`Runner.run` with the prompt, or with another input, such as a state to resume."""
        result = await Runner.run(agent, self.prompt if input is None else input, **self._with_memory(options))
        self._result = result
        return result

    def run_streamed(self, agent: Agent[Any], input: Any = None, **options: Any) -> RunResultStreaming:
        """`Runner.run_streamed`; consume all events before the block ends."""
        result = Runner.run_streamed(agent, self.prompt if input is None else input, **self._with_memory(options))
        self._result = result
        return result

    def said(self) -> Sequence[Message]:
        items = self._result.new_items if self._result is not None else ()
        texts = [ItemHelpers.text_message_output(item) for item in items if isinstance(item, MessageOutputItem)]
        return [user_message(self.prompt), *(assistant_message(text) for text in texts if text)]

    def _with_memory(self, options: dict[str, Any]) -> dict[str, Any]:
        given = options.get("run_config")
        config = RunConfig(**given) if isinstance(given, dict) else given or RunConfig()
        put = self._put_before(config.call_model_input_filter)
        if self.session is not None:
            options = {"session": self.session, **options}
        return {**options, "run_config": dataclasses.replace(config, call_model_input_filter=put)}

    def _put_before(self, inner: CallModelInputFilter | None) -> CallModelInputFilter:
        """A filter that adds to the model's input, after the program's own filter."""

        async def put(data: CallModelData[Any]) -> ModelInputData:
            model_data = data.model_data
            if inner is not None:
                answer = inner(data)
                model_data = await answer if inspect.isawaitable(answer) else answer
            sections = [part for part in (model_data.instructions, self.system_prompt) if part]
            items = list(model_data.input)
            place = self._place_of_prompt(items)
            if self.context and place is not None:
                items.insert(place, {"role": "user", "content": self.context})
            return ModelInputData(input=items, instructions="\n\n".join(sections) or None)

        return put

    def _place_of_prompt(self, items: Sequence[Any]) -> int | None:
        """Position of this run's prompt; None if the API already has it."""
        asked = [place for place, item in enumerate(items) if isinstance(item, dict) and item.get("role") == "user"]
        same = [place for place in asked if items[place].get("content") == self.prompt]
        return next(reversed(same or asked), None)
