"""The runs behind a wrapped client: one for each prompt, across the requests that its tools take."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memslot import AgentRun, Host, Session

from memslot_adapters.memory_run import assistant_message, user_message
from memslot_adapters.tools import ChatType, chat_type_of
from memslot_adapters.wrap.formats import Answer, Format, Prompt, find_prompt, messages_of

MAX_WAITING = 64
"""Turns that may wait for tool results; beyond that, the oldest is ended."""


@dataclass(eq=False)
class Turn:
    """A request in progress: its body with recalled text, and the run to report its end to."""

    body: Mapping[str, Any]
    form: Format
    prompt: Prompt
    run: AgentRun
    turns: Turns
    said: list[str] = field(default_factory=list)
    answer_ids: set[str] = field(default_factory=set)
    is_over: bool = False

    def end(self, answer: Answer | None) -> None:
        """Take the answer; a turn that waits for tools continues with the next request. Only the first end counts."""
        if self.is_over:
            return
        self.is_over = True
        if answer is not None and answer.error is not None:
            self.run.finish(success=False, error=answer.error)
            return
        if answer is not None and answer.text.strip():
            self.said.append(answer.text)
        if answer is not None and not answer.is_final:
            self.answer_ids = answer.ids
            self.turns.keep(self)
        elif answer is None:
            self.run.finish()
        else:
            self.capture()

    def fail(self, error: BaseException) -> None:
        """End the run as failed, with nothing to capture."""
        if not self.is_over:
            self.is_over = True
            self.run.__exit__(type(error), error, None)

    def capture(self) -> None:
        said = [user_message(self.prompt.text), *map(assistant_message, self.said)]
        self.run.finish(said if self.turns.captures else ())


class Turns:
    """Starts turns, and keeps those that wait for tools."""

    def __init__(
        self,
        host: Host,
        *,
        owns_host: bool,
        session: str | Session | None,
        chat_type: ChatType | None,
        capture: bool,
    ) -> None:
        self.captures = capture
        self._host = host
        self._owns_host = owns_host
        self._session = session
        self._chat_type = chat_type_of(session, chat_type)
        self._waiting: list[Turn] = []
        self._lock = threading.Lock()

    def begin(self, form: Format, body: Mapping[str, Any]) -> Turn | None:
        """Return a turn for a request; None if it has no text from the user. The body is not changed."""
        if form.summary_key and body.get(form.summary_key):
            return None
        messages = messages_of(form, body)
        prompt = find_prompt(form, messages)
        if prompt is None:
            return self._continue(form, body)
        before = None if prompt.is_last else self._take(lambda turn: turn.prompt.digest == prompt.digest)
        run = before.run if before else self._host.run(prompt.text, session=self._session, chat_type=self._chat_type)
        if run.context:
            body = form.with_recall(body, messages, prompt, run.context)
        elif not isinstance(body[form.messages_key], str | list):
            body = {**body, form.messages_key: messages}  # the original may have been an iterator
        return Turn(body, form, prompt, run, self, before.said if before else [])

    def keep(self, turn: Turn) -> None:
        """Keep a turn until its next request."""
        with self._lock:
            self._waiting.append(turn)
            oldest = self._waiting.pop(0) if len(self._waiting) > MAX_WAITING else None
        if oldest is not None:
            oldest.capture()

    def _continue(self, form: Format, body: Mapping[str, Any]) -> Turn | None:
        """The next request of a turn whose messages the vendor keeps: it has the results of tools, and no prompt."""
        previous = form.previous(body)
        before = self._take(lambda turn: previous in turn.answer_ids) if previous else None
        return Turn(body, form, before.prompt, before.run, self, before.said) if before else None

    def _take(self, is_wanted: Callable[[Turn], bool]) -> Turn | None:
        with self._lock:
            # The newest: an older turn of the same conversation was given up.
            found = next(filter(is_wanted, reversed(self._waiting)), None)
            if found is not None:
                self._waiting.remove(found)
            return found

    def close(self) -> None:
        """End the waiting turns, and close the host if it was loaded for this client."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for turn in waiting:
            turn.capture()
        if self._owns_host:
            self._host.close()
