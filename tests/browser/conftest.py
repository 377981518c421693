"""A real Chromium on the real `memslot ui`. `make test-browser` installs what is needed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect, sync_playwright

from tests.inspected_home import CONFIG, NOTES, WAIT, Server, fill_home, serving

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / ".build" / "screenshots"
AXE = ROOT / ".build" / "browser" / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A name that somebody else's server could give this machine's address.
    "--host-resolver-rules=MAP rebound.example 127.0.0.1",
]


@dataclass
class Tab:
    """A page that was opened with the link, and what went wrong in it."""

    page: Page
    server: Server
    faults: list[str] = field(default_factory=list)

    def go(self, path: str) -> Page:
        self.page.goto(self.server.address + path)
        self.page.wait_for_load_state("networkidle")
        return self.page

    def picture(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(SCREENSHOTS / f"{name}.png"))

    def accessibility_faults(self) -> list[str]:
        """What axe calls serious or critical."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found: dict[str, Any] = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{each['id']}: {each['nodes'][0]['html']} {each['nodes'][0]['failureSummary']}"
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ]


expect.set_options(timeout=1000 * WAIT)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    folder.chmod(0o700)
    fill_home(folder)
    return folder


@pytest.fixture(scope="session")
def running(home: Path) -> Iterator[Server]:
    with serving(home) as server:
        yield server


@pytest.fixture(scope="session")
def signed_in(chromium: Browser, running: Server) -> Any:
    """What a browser holds that has opened the link, which works once."""
    context = patient(chromium.new_context())
    page = context.new_page()
    page.goto(running.link)
    page.wait_for_url(f"{running.address}/")
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    """The server that all tests share; what they write is taken back."""
    yield running
    restore(running.home)


def restore(home: Path) -> None:
    (home / "memslot.json5").write_text(CONFIG, encoding="utf-8")
    (home / "workspace" / "MEMORY.md").write_text(NOTES["MEMORY.md"], encoding="utf-8")


@pytest.fixture
def context(chromium: Browser, signed_in: Any) -> Iterator[BrowserContext]:
    made = patient(chromium.new_context(viewport={"width": 1200, "height": 850}, storage_state=signed_in))
    yield made
    made.close()


@pytest.fixture
def tab(context: BrowserContext, server: Server) -> Iterator[Tab]:
    """The inspector, open; at the end nothing may have failed, and nothing was asked for elsewhere."""
    found = open_tab(context, server, server.address)
    yield found
    assert found.faults == []


@pytest.fixture
def own_tab(chromium: Browser, home: Path) -> Iterator[Tab]:
    """A tab of a server of its own, which the test may kill."""
    context = patient(chromium.new_context())
    with serving(home) as server:
        yield open_tab(context, server, server.link)
    context.close()
    restore(home)


def patient(context: BrowserContext) -> BrowserContext:
    """A context for a busy machine."""
    context.set_default_timeout(1000 * WAIT)
    return context


def open_tab(context: BrowserContext, server: Server, address: str) -> Tab:
    page = context.new_page()
    found = Tab(page, server)
    # A refused form answers 400, which Chromium tells as an error of the console, too.
    expected = re.compile(r"status of 4\d\d|Multiple forms should be contained")
    page.on("pageerror", lambda error: found.faults.append(f"error: {error}"))
    page.on(
        "console",
        lambda said: (
            found.faults.append(f"console: {said.text}")
            if said.type in ("error", "warning") and not expected.search(said.text)
            else None
        ),
    )
    page.on("request", lambda request: found.faults.extend(_elsewhere(request, server)))
    page.goto(address)
    page.wait_for_url(f"{server.address}/")
    return found


def _elsewhere(request: Request, server: Server) -> list[str]:
    is_ours = request.url.startswith((server.address, "data:", "chrome-error:"))
    return [] if is_ours else [f"asked {request.url}"]
