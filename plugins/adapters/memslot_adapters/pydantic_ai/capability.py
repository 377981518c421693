"""Everything memslot does for an agent, as one Pydantic AI capability."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from memslot import Host, Message, Session
from pydantic_ai import ModelMessage, ModelRequest, ModelResponse, RunContext, TextPart, UserPromptPart
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult

from memslot_adapters.memory_run import Remembering, assistant_message, user_message
from memslot_adapters.pydantic_ai.toolset import MemoryToolset
from memslot_adapters.tools import ActiveRun, ChatType

SessionOf = str | Session | Callable[[RunContext[Any]], str | Session | None] | None
"""The session of all runs, or a function that gives it for each run."""


class Memory(AbstractCapability[Any]):
    """A memory for an agent: `Agent(…, capabilities=[Memory(host)])`.

    The agent gets the tools and the plugins' prompt sections. What is recalled for a prompt precedes it in that run's
    requests only; after the run plugins capture what was said. Without a session each run is its own conversation.
    """

    def __init__(self, host: Host, *, session: SessionOf = None, chat_type: ChatType | None = None) -> None:
        self._host = host
        self._session = session
        self._chat_type = chat_type
        self._block: _Block | None = None

    async def for_run(self, ctx: RunContext[Any]) -> Memory:
        mine = copy.copy(self)
        session = self._session(ctx) if callable(self._session) else self._session
        mine._block = _Block(self._host, _text(ctx.prompt), session=session, chat_type=self._chat_type)
        return mine

    def get_toolset(self) -> MemoryToolset:
        return MemoryToolset(self._host, follow=self._active_run)

    def _active_run(self) -> ActiveRun:
        if self._block is None:
            raise RuntimeError("these tools work only during a run of the agent")
        return ActiveRun(self._host, self._block.memory_run)

    async def wrap_run(self, ctx: RunContext[Any], *, handler: Callable[[], Any]) -> AgentRunResult[Any]:
        assert self._block is not None
        async with self._block as block:
            result: AgentRunResult[Any] = await handler()
            block.new_messages = result.new_messages()
            return result

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        if self._block is None or not self._block.context:
            return request_context
        messages = _put_before(request_context.messages, ctx.prompt, self._block.context)
        return dataclasses.replace(request_context, messages=messages)


class _Block(Remembering):
    """One run; `new_messages` are those it added."""

    new_messages: Sequence[ModelMessage] = ()

    def said(self) -> Sequence[Message]:
        answers = (message for message in self.new_messages if isinstance(message, ModelResponse))
        texts = ("".join(part.content for part in answer.parts if isinstance(part, TextPart)) for answer in answers)
        asked = [user_message(self.prompt)] if self.prompt else []
        return [*asked, *(assistant_message(text) for text in texts if text)]


def _put_before(messages: Sequence[ModelMessage], prompt: Any, context: str) -> list[ModelMessage]:
    """The messages with the context before this run's prompt, copied since the originals are the history."""
    changed = list(messages)
    asked = [
        (place, part)
        for place, message in enumerate(changed)
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]
    chosen = next(reversed([each for each in asked if each[1].content == prompt] or asked), None)
    if chosen is not None:
        place, prompt_part = chosen
        request = changed[place]
        assert isinstance(request, ModelRequest)
        at = next(number for number, part in enumerate(request.parts) if part is prompt_part)
        parts = [*request.parts[:at], UserPromptPart(context), *request.parts[at:]]
        changed[place] = dataclasses.replace(request, parts=parts)
    return changed


def _text(prompt: Any) -> str:
    """The text of a prompt that may contain images."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    parts = (part if isinstance(part, str) else getattr(part, "content", None) for part in prompt)
    return "\n".join(part for part in parts if isinstance(part, str))
