"""Access control: only the browser of the user who started the inspector may use it, and no web page.

The link has a token that works once and gives the browser a cookie. `Host` is checked because a web page can point its
own name at 127.0.0.1 (DNS rebinding), `Origin` and `Sec-Fetch-Site` because a browser sends any page's requests to any
address; what writes also needs the token that only our own pages know.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

ADDRESS = "127.0.0.1"
OPEN_PATH = "/open"
MAX_BODY_BYTES = 5 * 1024 * 1024
"""The longest text that the editor takes, in a script whose characters take nine bytes in a form."""
_NAMES = (ADDRESS, "localhost")
_OWN_PAGES = ("same-origin", "none")
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # not no-referrer: with that, browsers send `Origin: null` with our own forms
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
TOO_LARGE = 413, f"The request has more than {MAX_BODY_BYTES // 1024**2} MB."
_OPENED = """<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/">
<title>memslot</title><p><a href="/">Open the inspector</a></p></html>"""


class Access:
    """The secrets of one server: the token of the link, the cookie, and the token of forms."""

    def __init__(self, port: int) -> None:
        self.port = port
        names = [f"{name}:{port}" for name in _NAMES] + list(_NAMES if port == 80 else ())  # browsers leave out 80
        self.hosts = frozenset(names)
        self.origins = frozenset(f"http://{name}" for name in names)
        self.form_token = secrets.token_urlsafe(32)
        self._cookie_name = f"memslot-ui-{port}"  # browsers share cookies among ports
        self._cookie = secrets.token_urlsafe(32)
        self._link_token: str | None = secrets.token_urlsafe(32)
        self._lock = threading.Lock()

    @property
    def link(self) -> str:
        """The link that opens the inspector, once."""
        return f"http://{ADDRESS}:{self.port}{OPEN_PATH}?token={self._link_token}"

    def use_link(self, token: str) -> bool:
        """Whether this is the link's token, which is then used up."""
        with self._lock:
            if self._link_token is None or not hmac.compare_digest(token.encode(), self._link_token.encode()):
                return False
            self._link_token = None
            return True

    def has_cookie(self, header: str) -> bool:
        """Whether the cookie is among those sent. Any other may be malformed: servers on all ports share them."""
        pairs = [pair.partition("=") for pair in header.split(";")]
        values = [value.strip() for name, _, value in pairs if name.strip() == self._cookie_name]
        return any(hmac.compare_digest(value.encode(), self._cookie.encode()) for value in values)

    def is_form_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.form_token.encode())

    def opened(self) -> HTMLResponse:
        """The answer to the link. A page, not a redirect: after one, a browser that came from elsewhere would not send
        a strict cookie."""
        response = HTMLResponse(_OPENED)
        response.set_cookie(self._cookie_name, self._cookie, httponly=True, samesite="strict", path="/")
        return response


class Guard:
    """Accepts requests to this server from its own pages only, and adds security headers to every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        headers = Headers(scope=scope)
        refused = self._refusal(scope, headers)
        if refused is None and scope["path"] == OPEN_PATH and scope["method"] == "GET":  # HEAD must not use it up
            refused = await self._open(scope, headers, receive, send_safely)
            if refused is None:
                return
        elif refused is None and not self._access.has_cookie(headers.get("cookie", "")):
            refused = 403, "This page needs the link that `memslot ui` printed."
        if refused is not None:
            status, sentence = refused
            await PlainTextResponse(f"{sentence}\n", status)(scope, receive, send_safely)
            return
        await self._app(scope, receive, send_safely)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._access.hosts:
            return 421, "Wrong Host header; use the link that `memslot ui` printed."
        writes = scope["method"] not in ("GET", "HEAD")
        if any(origin not in self._access.origins for origin in origins) or (writes and not origins):
            return 403, "Requests from other pages are refused."
        site = headers.get("sec-fetch-site", "none")
        if site not in _OWN_PAGES and scope["path"] != OPEN_PATH:
            return 403, "Requests from other pages are refused."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > MAX_BODY_BYTES:
            return TOO_LARGE
        return None

    async def _open(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> tuple[int, str] | None:
        from urllib.parse import parse_qs

        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if self._access.use_link(token) or self._access.has_cookie(headers.get("cookie", "")):
            await self._access.opened()(scope, receive, send)
            return None
        return (
            403,
            "This link is invalid or was already used: each link works once, in one browser. Start `memslot ui` again.",
        )
