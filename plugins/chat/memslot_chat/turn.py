"""One turn: the prompt, the model's answer, and its tool calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from memslot import CompactionFlush, Message, SessionError, count_tokens

from memslot_chat.compaction import Compactor
from memslot_chat.conversation import Conversation
from memslot_chat.errors import ChatError, ContextFullError, ToolsRefusedError
from memslot_chat.interrupts import Interrupts
from memslot_chat.reply import THOUGHTS, Reply, ReplyBuilder, RequestedCall, Usage
from memslot_chat.request_messages import CANCELLED, INTERRUPTED, call_ids, for_request, schema_tokens
from memslot_chat.screen import Screen
from memslot_chat.tool_calls import CallOutcome, run_calls

if TYPE_CHECKING:
    from memslot import AgentRun, Host, Tool

    from memslot_chat.endpoint import Endpoint

MAX_ROUNDS = 25
SYSTEM_PROMPT = (
    "You are a helpful assistant in a terminal. Answer in Markdown, and be brief. This chat began on {today}."
)
_MAX_RESULT = 50_000
_MIN_RESULT = 2_000
_WHY_IT_ENDED = {
    "length": "the answer was cut off at the model's output limit",
    "content_filter": "the answer was cut off by the endpoint's content filter",
}


@dataclass
class TurnOutcome:
    """A turn's result; `error` says why it failed; `cancelled` if a signal ended it."""

    answer: str = ""
    recalled: str = ""
    calls: list[CallOutcome] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    error: str | None = None
    cancelled: bool = False

    def to_json(self) -> dict[str, Any]:
        calls = [
            {
                "name": each.call.name,
                "arguments": each.call.arguments,
                "result": each.text,
                "isError": each.is_error,
                "seconds": round(each.seconds, 3),
            }
            for each in self.calls
        ]
        usage = {"inputTokens": self.usage.input, "outputTokens": self.usage.output}
        told = {"answer": self.answer, "recalled": self.recalled, "toolCalls": calls, "usage": usage}
        return {**told, **({"error": self.error} if self.error is not None else {})}


class Agent:
    """Runs turns in conversations."""

    def __init__(
        self,
        host: Host,
        endpoint: Endpoint,
        screen: Screen,
        interrupts: Interrupts,
        *,
        context_window: int,
        system_prompt: str | None = None,
    ) -> None:
        self.host = host
        self.endpoint = endpoint
        self.screen = screen
        self.interrupts = interrupts
        self.flush = CompactionFlush(host.config, host.places, host.agent_id, context_window=context_window)
        self.takes_tools = True
        # Written once: a prompt that changed at midnight would be cold in the provider's cache.
        today = date.today().strftime("%A, %Y-%m-%d")
        self.system_prompt = SYSTEM_PROMPT.format(today=today) if system_prompt is None else system_prompt
        # A quarter of the window at most, so that one result can't displace the conversation.
        self.longest_result = max(_MIN_RESULT, min(_MAX_RESULT, context_window))

    def take_turn(self, conversation: Conversation, prompt: str) -> TurnOutcome:
        """Answer a prompt. An endpoint's failure or a Ctrl-C is in the outcome, and the conversation can continue."""
        outcome = TurnOutcome()
        turn: _Turn | None = None
        success = False
        try:
            history, _ = conversation.history()
            with self.interrupts.waiting():
                run = self.host.run(
                    prompt, session=conversation.session, messages=history, system_prompt=self.system_prompt
                )
            turn = _Turn(self, conversation, run, history, outcome)
            turn.take()
            success = True
        except KeyboardInterrupt:  # Cancelled, Terminated
            outcome.cancelled = True
            outcome.error = "cancelled"
        except (ChatError, SessionError) as error:
            outcome.error = str(error)
        finally:
            if turn is not None:
                turn.run.finish(turn.said, success=success, error=outcome.error)
        if success and not outcome.answer.strip():
            outcome.error = "the model returned an empty answer"
        return outcome


class _Turn:
    def __init__(
        self, agent: Agent, conversation: Conversation, run: AgentRun, history: Sequence[Message], outcome: TurnOutcome
    ) -> None:
        self.run = run
        self._agent = agent
        self._conversation = conversation
        self._outcome = outcome
        self._screen = agent.screen
        self._compactor = Compactor(agent.host, agent.endpoint, agent.screen, agent.interrupts, agent.flush)
        # Messages that another process adds meanwhile are left for the next turn.
        self._older = list(history)
        self._own: list[Message] = []
        self._first_id = ""
        self._was_compacted = False

    @property
    def said(self) -> list[Message]:
        """Return this turn's messages for plugins, without recalled memory."""
        return [{"role": "user", "content": self.run.info.prompt}, *self._own[1:]] if self._own else []

    def take(self) -> None:
        if self.run.context:
            self._outcome.recalled = self.run.context
            self._screen.recalled(self.run.context)
        self._first_id = self._store({"role": "user", "content": self.run.prompt})
        for _ in range(MAX_ROUNDS):
            reply = self._ask_model()
            self._outcome.answer = reply.text
            if reply.text or reply.calls:
                self._store(self._stored_form(reply))
            if reply.usage is not None:
                self._conversation.measured = (reply.usage.total, len(self._messages))
            if reply.finish in _WHY_IT_ENDED:
                self._screen.note(_WHY_IT_ENDED[reply.finish])
            if not reply.calls:
                return
            self._run_calls(reply.calls)
        raise ChatError(
            f"the model called tools {MAX_ROUNDS} times without answering; write “go on” to let it continue"
        )

    def _stored_form(self, reply: Reply) -> dict[str, Any]:
        """Return an answer as stored. Reasoning is kept if tools were called: some endpoints require it."""
        message = reply.to_message()
        if not reply.calls and not self._outcome.calls:
            message.pop(THOUGHTS, None)
        is_for_one_model = THOUGHTS in message or any(call.extra for call in reply.calls)
        return {**message, "model": self._model} if is_for_one_model else message

    @property
    def _model(self) -> str:
        return self._agent.endpoint.service.model

    @property
    def _messages(self) -> list[Message]:
        return [*self._older, *self._own]

    def _store(self, message: dict[str, Any]) -> str:
        written = self._conversation.add(message)
        self._own.append(message)
        return written

    # Requests

    @property
    def _tools(self) -> Sequence[Tool]:
        return self.run.tools if self._agent.takes_tools else ()

    def _ask_model(self) -> Reply:
        self._make_room()
        while True:
            try:
                return self._ask_once()
            except ToolsRefusedError as error:
                if not self._tools:
                    raise
                self._agent.takes_tools = False
                self._screen.warn(f"continuing without tools: {error}")
            except ContextFullError:
                if self._was_compacted or not self._compact(self._tokens(), by_force=True):
                    raise

    def _ask_once(self) -> Reply:
        builder = ReplyBuilder([tool.name for tool in self._tools], call_ids(self._messages))
        system = [{"role": "system", "content": self.run.system_prompt}] if self.run.system_prompt else []
        self._screen.waiting()
        try:
            return self._agent.endpoint.ask(
                [*system, *for_request(self._messages, self._model)],
                tools=self._tools,
                on_text=self._screen.text,
                into=builder,
            )
        except BaseException:
            if builder.text.strip():
                self._outcome.answer = builder.text
                self._store({"role": "assistant", "content": f"{builder.text.rstrip()}\n\n{INTERRUPTED}"})
            raise
        finally:
            self._screen.end_text()
            if builder.usage is not None:
                self._outcome.usage += builder.usage
                self._conversation.count(builder.usage)

    # Context window

    def _tokens(self) -> int:
        """Return the conversation's length: the endpoint's last count plus an estimate of what followed."""
        messages, measured = self._messages, self._conversation.measured
        if measured is not None and len(messages) >= measured[1]:
            return measured[0] + count_tokens(messages[measured[1] :])
        return count_tokens(for_request(messages, self._model), self.run.system_prompt) + schema_tokens(self._tools)

    def _make_room(self) -> None:
        if self._was_compacted:
            return
        tokens = self._tokens()
        self._compactor.flush_if_due(self.run, self._tools, self._conversation, self._older, tokens)
        if self._agent.flush.needs_compaction(tokens):
            self._compact(tokens)

    def _compact(self, tokens: int, *, by_force: bool = False) -> bool:
        self._was_compacted = True
        if by_force:  # the window is smaller than the settings say, so the flush is due too
            due = max(tokens, self._agent.flush.budget.flush_at)
            self._compactor.flush_if_due(self.run, self._tools, self._conversation, self._older, due)
        if not self._compactor.compact(self._conversation, self._first_id, tokens, keep_little=by_force):
            return False
        self._conversation.measured = None
        messages, ids = self._conversation.history()
        this = ids.index(self._first_id) if self._first_id in ids else len(ids)
        self._older = messages[: len(messages) - len(ids) + this]
        return True

    # Tools

    def _run_calls(self, calls: Sequence[RequestedCall]) -> None:
        open_calls = {call.id: call for call in calls}
        self._screen.calling(calls)
        try:
            for outcome in run_calls(
                calls, self.run.call_tool, self._agent.interrupts, longest=self._agent.longest_result
            ):
                del open_calls[outcome.call.id]
                self._outcome.calls.append(outcome)
                self._screen.called(outcome)
                self._store(_result(outcome.call, outcome.text))
        except BaseException:
            for call in open_calls.values():
                self._store(_result(call, CANCELLED))
            raise


def _result(call: RequestedCall, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": text}
