"""What a hostile note and a hostile web page try, in a browser that would let them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.browser.conftest import Tab, patient
from tests.inspected_home import NOTES, Server

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("note", ["hostile-script", "hostile-signs"])
def test_a_hostile_note_stays_text_wherever_it_is_shown(tab: Tab, note: str) -> None:
    item = f"/browse/item?memory=memory-core&path=memory/{note}.md"
    addresses = {
        "rendered": item,
        "source": f"{item}&view=source",
        "edit": f"{item}&view=edit",
        "search": "/?q=marmalade",
        "agent": "/agent?prompt=who keeps the marmalade ledger?",
        "memories": "/browse?memory=memory-lancedb",
        "audit": "/audit",
        "pictures": "/pictures",
    }
    for name, address in addresses.items():
        page = tab.go(address)
        assert page.evaluate("window.hacked") is None, address
        assert page.locator("iframe, object, embed, style, main script, main img").count() == 0
        expect(page.locator("h1")).to_be_visible()
        tab.picture(f"{note}-{name}")
    assert "<script>window.hacked" in tab.go(f"{item}&view=source").locator("main").inner_text()


def test_a_line_cannot_be_reversed(tab: Tab) -> None:
    page = tab.go("/browse/item?memory=memory-core&path=memory/hostile-signs.md&view=source")
    shown = page.locator("main").inner_text()
    for sign in "\u202e\u202c\u200b\u2060\U000e0041":
        assert sign not in shown
    assert "Pay txt.exe to the marmalade office" in shown


class _Evil(BaseHTTPRequestHandler):
    target = ""

    def do_GET(self) -> None:
        body = f"""<!doctype html><title>evil</title>
        <form id="form" method="post" action="{self.target}/browse/remember" target="frame">
        <input name="memory" value="memory-core"><input name="text" value="Planted by a page."></form>
        <iframe name="frame" id="frame"></iframe><iframe id="page" src="{self.target}/"></iframe>""".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def evil(server: Server) -> Iterator[str]:
    """Somebody's web page."""
    _Evil.target = server.address
    site = ThreadingHTTPServer(("127.0.0.1", 0), _Evil)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    yield f"http://localhost:{site.server_address[1]}"
    site.shutdown()
    site.server_close()


def test_a_web_page_can_neither_read_nor_write_nor_frame_the_memory(
    tab: Tab, context: BrowserContext, evil: str
) -> None:
    page = context.new_page()
    page.goto(evil)
    read = page.evaluate(
        """async (target) => { try {
            const answer = await fetch(target, {credentials: 'include'}); return await answer.text();
        } catch (error) { return 'refused' } }""",
        f"{tab.server.address}/?q=tea",
    )
    assert read == "refused"
    for body in ("form-token=x&memory=memory-core&text=Planted", ""):
        page.evaluate(
            """async ([target, body]) => { try { await fetch(target, {method: 'POST', mode: 'no-cors', body,
            credentials: 'include', headers: {'Content-Type': 'application/x-www-form-urlencoded'}}) } catch {} }""",
            [f"{tab.server.address}/browse/remember", body],
        )
    with page.expect_event("framenavigated", lambda frame: frame.name == "frame"):  # to the browser's error page
        page.evaluate("document.getElementById('form').submit()")
    for frame in page.frames[1:]:
        assert "memslot" not in (frame.title() or "")
    notes = tab.server.workspace.rglob("*.md")
    assert not any("Planted" in note.read_text(encoding="utf-8", errors="replace") for note in notes)
    assert (tab.server.workspace / "MEMORY.md").read_text() == NOTES["MEMORY.md"]


def test_a_name_that_was_pointed_at_this_machine_shows_nothing(tab: Tab, context: BrowserContext) -> None:
    page = context.new_page()
    answer = page.goto(f"http://rebound.example:{tab.server.port}/")
    assert answer is not None
    assert answer.status == 421
    assert "Ada" not in page.content()
    answer = page.goto(tab.server.link.replace("127.0.0.1", "rebound.example"))
    assert answer is not None
    assert answer.status == 421


def test_another_browser_gets_nothing_with_a_used_or_missing_token(tab: Tab, chromium: Browser) -> None:
    context = patient(chromium.new_context())
    page = context.new_page()
    for address in (tab.server.address, tab.server.link, f"{tab.server.address}/open?token=guess"):
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 403
    assert context.cookies() == []
    context.close()
