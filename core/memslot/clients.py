"""Wraps a vendor's SDK client with a memory; wrappers are entry points of installed packages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import metadata
from typing import TYPE_CHECKING, Any, TypeVar

from memslot.plugins.hints import extra_install_command

if TYPE_CHECKING:
    from memslot.events import ChatType, Session
    from memslot.host import Host

GROUP = "memslot.wrappers"
"""Each entry point has the name of an SDK's top-level module and leads to a function that takes what `wrap` takes."""

Client = TypeVar("Client")


def wrap(
    client: Client,
    *,
    host: Host | None = None,
    session: str | Session | None = None,
    chat_type: ChatType | None = None,
    capture: bool = True,
) -> Client:
    """A copy of an openai or anthropic client that recalls before each request and captures after it.

    Without a host it loads one, which is closed with the client. Without a session each prompt is a conversation of its
    own. `capture=False` only recalls.
    """
    wrapped: Client = _wrapper_for(client)(client, host=host, session=session, chat_type=chat_type, capture=capture)
    return wrapped


def _wrapper_for(client: object) -> Callable[..., Any]:
    points = {point.name: point for point in metadata.entry_points(group=GROUP)}
    modules = list(dict.fromkeys(_top_modules(type(client))))
    for module in modules:
        if module in points:
            wrapper: Callable[..., Any] = points[module].load()
            return wrapper
    kind = f"{modules[0]}.{type(client).__name__}"
    if not points:
        raise ImportError(f"no wrapper for {kind} is installed; install one with: {extra_install_command('wrap')}")
    raise TypeError(f"memslot.wrap takes a client of {' or '.join(sorted(points))}, not {kind}")


def _top_modules(kind: type) -> Iterator[str]:
    """The packages that a class and its base classes come from, its own first."""
    for each in kind.__mro__:
        yield each.__module__.partition(".")[0]
