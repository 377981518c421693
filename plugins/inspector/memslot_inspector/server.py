"""Runs the web server until it is told to end, or until its terminal or parent process is gone."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from memslot import write_file

if TYPE_CHECKING:
    import uvicorn
    from memslot import Hosts, PluginContext

    from memslot_inspector.access import Access

CLOSE_SECONDS = 3
_PARENT_SECONDS = 1.0
_REDIRECT = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={link}"><title>memslot</title>'
)


def serve(ctx: PluginContext, hosts: Hosts, access: Access, listener: socket.socket, *, opens: bool) -> None:
    """Serve until the end; `opens` the browser."""
    asyncio.run(_serve(ctx, hosts, access, listener, opens=opens))


async def _serve(ctx: PluginContext, hosts: Hosts, access: Access, listener: socket.socket, *, opens: bool) -> None:
    import uvicorn

    from memslot_inspector.app import make_app

    settings = uvicorn.Config(
        make_app(ctx, hosts, access),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=CLOSE_SECONDS,
    )
    server = uvicorn.Server(settings)
    # A page that fails is told with its traceback; not each request that the end cuts off, nor who speaks no HTTP.
    logger = logging.getLogger("uvicorn.error")
    logger.setLevel(logging.ERROR)
    logger.addFilter(lambda _: not server.should_exit)
    # uvicorn raises the signal that ended it once more when it is done; that must not end us before the host is closed.
    # Until uvicorn has handlers of its own, a signal must end us all the same.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: _end(server))
    if sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _end, server)
    watch = asyncio.create_task(_watch_parent(server))
    with _opened(ctx, access) if opens else contextlib.nullcontext():
        await server.serve(sockets=[listener])
    watch.cancel()


def _end(server: uvicorn.Server) -> None:
    server.should_exit = True


async def _watch_parent(server: uvicorn.Server) -> None:
    """A killed terminal sends no signal to background processes."""
    parent = os.getppid()
    while os.getppid() == parent:
        await asyncio.sleep(_PARENT_SECONDS)
    _end(server)


@contextlib.contextmanager
def _opened(ctx: PluginContext, access: Access) -> Iterator[None]:
    """Open the browser with a private file that leads to the link: other users can read a command's arguments."""
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        yield  # only a text browser could be available, and this terminal is in use
        return
    file: Path = ctx.state_dir() / f"open-{access.port}.html"
    write_file(file, _REDIRECT.format(link=access.link), mode=0o600)
    try:
        # With BROWSER="name %s", Python waits until the browser ends, which waits for us.
        threading.Thread(target=webbrowser.open, args=(file.as_uri(),), name="memslot ui browser", daemon=True).start()
        yield
    finally:
        file.unlink(missing_ok=True)
