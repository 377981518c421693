"""A client with a memory: the SDK's own class, with recall before its requests and capture after them.

Everything the SDKs offer (`create`, `parse`, `stream`, raw responses) goes through the client's `request`, so that is
the one method that is overridden. Classes are made from the client's own: no SDK is imported, and `isinstance` holds.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
from collections.abc import Mapping
from typing import Any

from memslot import Host, Session

from memslot_adapters.memory_run import run_to_completion
from memslot_adapters.tools import ChatType
from memslot_adapters.wrap.classes import subclass, twin_of
from memslot_adapters.wrap.formats import Answer, Format
from memslot_adapters.wrap.stream import watch_async_stream, watch_stream
from memslot_adapters.wrap.turns import Turn, Turns

_STATE = "_memslot_state"


class _State:
    """The state of a wrapped client."""

    def __init__(self, base: Any, formats: Mapping[str, Format], turns: Turns) -> None:
        self.base = base
        self.formats = formats
        self.turns = turns

    def format_of(self, options: Any) -> Format | None:
        """Return the format of a request; None if it is not a prompt."""
        path = str(options.url).partition("?")[0]
        is_prompt = str(options.method).lower() == "post" and isinstance(options.json_data, Mapping)
        return self.formats.get(path) if is_prompt else None


def wrap_client(
    client: Any,
    formats: Mapping[str, Format],
    *,
    host: Host | None = None,
    session: str | Session | None = None,
    chat_type: ChatType | None = None,
    capture: bool = True,
) -> Any:
    """A copy of a client with a memory; the client itself stays as it is. They share connections."""
    if hasattr(client, _STATE):
        raise TypeError("this client has a memory already; wrap the client that it was made from")
    owned = host is None
    turns = Turns(host or Host.load(), owns_host=owned, session=session, chat_type=chat_type, capture=capture)
    return _with_state(client, _State(type(client), formats, turns))


def _with_state(client: Any, state: _State) -> Any:
    is_async = inspect.iscoroutinefunction(state.base.request)
    twin = twin_of(client, subclass(state.base, _AsyncMemory if is_async else _SyncMemory))
    for name in list(vars(twin)):
        # Resources are cached, with the methods of the client they were created for.
        if isinstance(inspect.getattr_static(state.base, name, None), functools.cached_property):
            delattr(twin, name)
    setattr(twin, _STATE, state)
    return twin


class _Memory:
    """Shared by sync and async clients."""

    def copy(self, **options: Any) -> Any:
        """The SDK's `copy`, on a plain client: SDKs ask for their own class in it."""
        state: _State = getattr(self, _STATE)
        plain = twin_of(self, state.base)
        delattr(plain, _STATE)
        return _with_state(plain.copy(**options), state)

    with_options = copy


class _SyncMemory(_Memory):
    def request(self, cast_to: Any, options: Any, **more: Any) -> Any:
        state: _State = getattr(self, _STATE)
        form = state.format_of(options)
        turn = None if form is None else state.turns.begin(form, options.json_data)
        if turn is None:
            return super().request(cast_to, options, **more)  # type: ignore[misc]
        try:
            result = super().request(cast_to, _with_body(options, turn), **more)  # type: ignore[misc]
        except BaseException as error:
            turn.fail(error)
            raise
        if hasattr(result, "__next__"):
            return watch_stream(result, turn)
        turn.end(_read(result, turn))
        return result

    def close(self) -> None:
        super().close()  # type: ignore[misc]
        state: _State = getattr(self, _STATE)
        state.turns.close()


class _AsyncMemory(_Memory):
    async def request(self, cast_to: Any, options: Any, **more: Any) -> Any:
        state: _State = getattr(self, _STATE)
        form = state.format_of(options)
        turn = None if form is None else await _begin(state.turns, form, options.json_data)
        if turn is None:
            return await super().request(cast_to, options, **more)  # type: ignore[misc]
        try:
            result = await super().request(cast_to, _with_body(options, turn), **more)  # type: ignore[misc]
        except BaseException as error:
            await run_to_completion(turn.fail, error)
            raise
        if hasattr(result, "__anext__"):
            return watch_async_stream(result, turn)
        await run_to_completion(turn.end, _read(result, turn))
        return result

    async def close(self) -> None:
        await super().close()  # type: ignore[misc]
        state: _State = getattr(self, _STATE)
        await run_to_completion(state.turns.close)


async def _begin(turns: Turns, form: Format, body: Any) -> Turn | None:
    begun: list[Turn | None] = []
    try:
        await run_to_completion(lambda: begun.append(turns.begin(form, body)))
    except asyncio.CancelledError as error:
        for turn in begun:
            if turn is not None:
                await run_to_completion(turn.fail, error)
        raise
    return begun[0]


def _with_body(options: Any, turn: Turn) -> Any:
    changed = copy.copy(options)
    changed.json_data = turn.body
    return changed


def _read(result: Any, turn: Turn) -> Answer | None:
    """Return an answer's content; None for a raw response that has not been read."""
    raw = getattr(result, "http_response", None)
    if raw is None:
        return turn.form.read(result)
    try:
        return turn.form.read(raw.json())
    except Exception:  # a streamed body, or one of another format, is left to the caller
        return None
