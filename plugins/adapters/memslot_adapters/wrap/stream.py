"""Watched streams: the SDK's own objects and events, captured once they are read to the end or closed."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any

from memslot_adapters.memory_run import run_to_completion
from memslot_adapters.wrap.classes import subclass, twin_of
from memslot_adapters.wrap.formats import Answer
from memslot_adapters.wrap.turns import Turn

_WATCH = "_memslot_watch"


class _Watch:
    """The answer so far. `is_reading` while the SDK reads the next event: it also closes the stream at the end."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.answer = Answer()
        self.is_reading = False

    def end(self) -> None:
        self.turn.end(self.answer)


def watch_stream(stream: Any, turn: Turn) -> Any:
    """Make a sync stream report its end to the turn."""
    watch, watched = _Watch(turn), twin_of(stream, subclass(type(stream), _SyncStream))
    alive, close = weakref.ref(watched), stream.response.close

    def close_and_end() -> None:
        close()
        # An abandoned stream is closed by the garbage collector, at any moment.
        if alive() is not None and not watch.is_reading:
            watch.end()

    setattr(watched, _WATCH, watch)
    stream.response.close = close_and_end  # the SDKs' helpers close the response, not the stream
    return watched


def watch_async_stream(stream: Any, turn: Turn) -> Any:
    """Make an async stream report its end to the turn."""
    watch, watched = _Watch(turn), twin_of(stream, subclass(type(stream), _AsyncStream))
    alive, close = weakref.ref(watched), stream.response.aclose

    async def close_and_end() -> None:
        await close()
        if alive() is not None and not watch.is_reading:
            await run_to_completion(watch.end)

    setattr(watched, _WATCH, watch)
    stream.response.aclose = close_and_end
    return watched


class _SyncStream:
    def __next__(self) -> Any:
        watch: _Watch = getattr(self, _WATCH)
        watch.is_reading = True
        try:
            event = super().__next__()  # type: ignore[misc]
        except StopIteration:
            watch.end()
            raise
        except BaseException as error:
            watch.turn.fail(error)
            raise
        finally:
            watch.is_reading = False
        watch.turn.form.add(watch.answer, event)
        return event

    def __iter__(self) -> Iterator[Any]:
        while True:
            try:
                event = self.__next__()
            except StopIteration:
                return
            yield event


class _AsyncStream:
    async def __anext__(self) -> Any:
        watch: _Watch = getattr(self, _WATCH)
        watch.is_reading = True
        try:
            event = await super().__anext__()  # type: ignore[misc]
        except StopAsyncIteration:
            await run_to_completion(watch.end)
            raise
        except BaseException as error:
            await run_to_completion(watch.turn.fail, error)
            raise
        finally:
            watch.is_reading = False
        watch.turn.form.add(watch.answer, event)
        return event

    async def __aiter__(self) -> AsyncIterator[Any]:
        while True:
            try:
                event = await self.__anext__()
            except StopAsyncIteration:
                return
            yield event
