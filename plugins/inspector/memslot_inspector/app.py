"""The inspector as an ASGI application: its routes, and how a request becomes a page."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from memslot import MemslotError, Workers, config_stamp
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from memslot_inspector.access import MAX_BODY_BYTES, TOO_LARGE, Guard
from memslot_inspector.pages import agent, audit, browse, forget, history, item, pictures, search, sessions, settings
from memslot_inspector.pages.layout import error_page, failed_page, late_page, missing_page, page_html
from memslot_inspector.visit import Page, PendingChanges, Redirect, Visit

if TYPE_CHECKING:
    from memslot import Hosts, PluginContext
    from starlette.types import ASGIApp

    from memslot_inspector.access import Access
    from memslot_inspector.visit import Answer

View = Callable[[Visit], "Answer"]
STATIC = Path(__file__).parent / "static"
TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
MOST_AT_ONCE = 8
MOST_TABS = 1000
MOST_FIELDS = 500
ANSWER_SECONDS = 120.0
"""Time for a page. Searches and writes have their own, shorter limits."""
PARTIAL = "x-memslot-part"
"""The header with which the script requests a part of a page; its value identifies the tab."""
READS: dict[str, View] = {
    "/": search.show,
    "/agent": agent.show,
    "/browse": browse.show,
    "/browse/item": item.show,
    "/browse/forget": forget.ask,
    "/browse/history": history.show,
    "/sessions": sessions.show,
    "/sessions/transcript": sessions.show_one,
    "/pictures": pictures.show,
    "/audit": audit.show,
    "/settings": settings.show,
    "/settings/plugin": settings.show_plugin,
    "/settings/doctor": settings.show_findings,
}
POSTS: dict[str, View] = {
    "/agent": agent.show,
    "/browse/save": item.save,
    "/browse/remember": browse.remember,
    "/browse/forget": forget.forget,
    "/browse/history": history.restore,
    "/settings/preview": settings.preview,
    "/settings/save": settings.save,
}


class _Tab:
    """The requests of a tab in which the user types."""

    def __init__(self) -> None:
        self.asked = 0
        self.lock = asyncio.Lock()


class Turns:
    """Limits concurrent requests, to one for each tab; of those that a tab waits for, only the latest is answered.

    So a user who types faster than a search takes keeps one thread busy, whatever the browser does.
    """

    def __init__(self, seconds: float = ANSWER_SECONDS) -> None:
        self._seconds = seconds
        self._workers = Workers(MOST_AT_ONCE)
        self._tabs: dict[str, _Tab] = {}

    async def take(self, name: str | None, work: Callable[[], Answer]) -> Answer | None:
        """Run the work in a thread; None if the tab of that name has sent a newer request meanwhile."""
        if name is None:
            return await self._do(work)
        tab = self._tabs.setdefault(name, _Tab())
        if len(self._tabs) > MOST_TABS:
            del self._tabs[next(iter(self._tabs))]
        tab.asked += 1
        number = tab.asked
        async with tab.lock:
            return await self._do(work) if tab.asked == number else None

    async def _do(self, work: Callable[[], Answer]) -> Answer:
        """Run the work, but don't wait for a memory that hangs: its page must not take one of the few places."""
        try:
            return await asyncio.wait_for(self._workers.run(work), self._seconds)
        except TimeoutError:
            return late_page(self._seconds)


class Inspector:
    """Answers requests with pages of the current host."""

    def __init__(self, ctx: PluginContext, hosts: Hosts, access: Access) -> None:
        self._ctx = ctx
        self._hosts = hosts
        self._access = access
        self._turns = Turns()
        self._pending = PendingChanges()
        self._stamp = config_stamp()
        self._reload_problem: str | None = None

    async def read(self, view: View, request: Request) -> Response:
        try:
            values = _parsed(request.url.query)
        except ValueError:
            values = {}
        return await self._answer(view, request, values)

    async def post(self, view: View, request: Request) -> Response:
        body = await _body(request)
        if body is None:
            return HTMLResponse(TOO_LARGE[1], TOO_LARGE[0])
        values = _fields(request, body)
        if not self._access.is_form_token(values.get("form-token", [""])[0]):
            return HTMLResponse("This form is from another server; reload the page.", 403)
        return await self._answer(view, request, values)

    async def _answer(self, view: View, request: Request, values: dict[str, list[str]]) -> Response:
        tab = request.headers.get(PARTIAL)
        answer = await self._turns.take(tab, functools.partial(self._visit, view, values))
        if answer is None:
            return Response(status_code=204)
        if isinstance(answer, Redirect):
            where = answer.address
            if answer.notice:
                where += ("&" if "?" in where else "?") + f"notice={answer.notice}"
            return RedirectResponse(where, 303)
        return self._shown(answer, request, values.get("notice", [""])[0])

    def _shown(self, page: Page, request: Request, notice: str = "") -> Response:
        if PARTIAL in request.headers and page.part is not None:
            return HTMLResponse(page.part.text, page.status)
        return self._framed(page, request.url.path, notice)

    def _framed(self, page: Page, path: str, notice: str = "") -> Response:
        with self._hosts.borrow() as host:
            return HTMLResponse(page_html(page, host, path, notice, self._reload_problem), page.status)

    async def missing(self, request: Request, error: Exception) -> Response:
        return self._framed(missing_page(), request.url.path)

    async def failed(self, request: Request, error: Exception) -> Response:
        return self._shown(failed_page(), request)

    def _visit(self, view: View, values: dict[str, list[str]]) -> Answer:
        self._follow_config()
        with self._hosts.borrow() as host:
            try:
                return view(Visit(host, self._ctx, values, self._access.form_token, self._pending))
            except (MemslotError, OSError) as error:
                return error_page(error)

    def _follow_config(self) -> None:
        """Reload the host if a config file has changed; keep the old one if that fails."""
        stamp = config_stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._hosts.reload()
            self._reload_problem = None
        except MemslotError as error:
            self._reload_problem = f"The settings on disk are not in use: {error}"


async def _body(request: Request) -> bytes | None:
    """The body; None if it is too large, whatever its declared length, or if it was cut off."""
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > MAX_BODY_BYTES:
                return None
            parts.append(part)
    except ClientDisconnect:
        return None
    return b"".join(parts)


def _fields(request: Request, body: bytes) -> dict[str, list[str]]:
    """The fields of a form; empty if it is not a form."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return {}
    try:
        return _parsed(body.decode("ascii"))
    except ValueError:
        return {}


def _parsed(text: str) -> dict[str, list[str]]:
    return parse_qs(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)


def _asset(file: Path) -> Callable[[Request], Awaitable[Response]]:
    content = file.read_bytes()

    async def answer(request: Request) -> Response:
        return Response(content, media_type=TYPES[file.suffix])

    return answer


def make_app(ctx: PluginContext, hosts: Hosts, access: Access) -> ASGIApp:
    """The whole server."""
    inspector = Inspector(ctx, hosts, access)
    routes = [Route(path, functools.partial(inspector.read, view), methods=["GET"]) for path, view in READS.items()]
    routes += [Route(path, functools.partial(inspector.post, view), methods=["POST"]) for path, view in POSTS.items()]
    routes += [
        Route(f"/static/{file.name}", _asset(file), methods=["GET"])
        for file in sorted(STATIC.iterdir())
        if file.suffix in TYPES
    ]

    app = Starlette(routes=routes, exception_handlers={404: inspector.missing, 500: inspector.failed})
    return Guard(app, access)
