"""Every page in a real browser: as it looks, by keyboard, to a screen reader, in the dark and on a phone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Request, expect

from tests.browser.conftest import Tab, open_tab, patient
from tests.inspected_home import MEMORY_IDS, Server

pytestmark = pytest.mark.browser

PAGES = {
    "search": "/?q=what do we use for the berth plan",
    "welcome": "/",
    "agent": "/agent?prompt=what do we use for the berth plan?",
    "agent-without": "/agent?prompt=what do we use for the berth plan?&without=memory-lancedb",
    "browse-notes": "/browse",
    "browse-memories": "/browse?memory=memory-lancedb",
    "item-rendered": "/browse/item?memory=memory-core&path=MEMORY.md",
    "item-source": "/browse/item?memory=memory-core&path=memory/projects.md&line=3",
    "item-captured": f"/browse/item?memory=memory-lancedb&path=ltm/{MEMORY_IDS[1]}",
    "item-edit": "/browse/item?memory=memory-core&path=MEMORY.md&view=edit",
    "history": "/browse/history?memory=memory-lancedb",
    "forget": f"/browse/forget?memory=memory-lancedb&path=ltm/{MEMORY_IDS[0]}",
    "sessions": "/sessions",
    "transcript": "/sessions/transcript?id=harbour-1",
    "pictures": "/pictures?memory=memory-lancedb",
    "audit": "/audit",
    "settings": "/settings",
    "settings-plugin": "/settings/plugin?id=memory-lancedb",
    "doctor": "/settings/doctor",
    "error": "/browse?memory=nothing",
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_and_looks_right_in_light_and_dark(tab: Tab, name: str) -> None:
    for scheme in ("light", "dark"):
        tab.page.emulate_media(color_scheme=scheme)
        tab.go(PAGES[name])
        expect(tab.page.locator("h1")).to_have_count(1)
        tab.picture(f"{name}-{scheme}")
        assert tab.accessibility_faults() == []


def test_pages_fit_a_phone(chromium: Browser, server: Server, signed_in: Any) -> None:
    size = {"width": 360, "height": 740}
    context = patient(chromium.new_context(viewport=size, has_touch=True, is_mobile=True, storage_state=signed_in))
    tab = open_tab(context, server, server.address)
    for name, address in PAGES.items():
        tab.go(address)
        tab.picture(f"{name}-phone")
        too_wide = tab.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert too_wide <= 0, f"{name} is {too_wide} pixels wider than the phone"
        assert tab.accessibility_faults() == [], name
    context.close()
    assert tab.faults == []


def test_names_on_the_map_neither_overlap_nor_leave_it_on_a_phone(
    chromium: Browser, server: Server, signed_in: Any
) -> None:
    context = patient(chromium.new_context(viewport={"width": 360, "height": 740}, storage_state=signed_in))
    tab = open_tab(context, server, server.address)
    boxes = tab.go("/pictures").evaluate(
        """() => {
            const map = document.querySelector(".map").getBoundingClientRect();
            return [...document.querySelectorAll(".regions text")].map((each) => {
                const box = each.getBoundingClientRect();
                return [box.left - map.left, box.top - map.top, box.right - map.left, box.bottom - map.top, map.width];
            });
        }"""
    )
    assert boxes
    for left, top, right, bottom, width in boxes:
        assert left >= 0
        assert right <= width
        beside = [each for each in boxes if each[2] <= left or right <= each[0]]
        above = [each for each in boxes if each[3] <= top + 4 or bottom - 4 <= each[1]]
        assert len([each for each in boxes if each not in beside and each not in above]) == 1, "a name covers another"
    context.close()


TYPE = """async ([field, text, pause]) => {
    for (const sign of text) {
        field.value += sign;
        field.dispatchEvent(new Event("input", {bubbles: true}));
        await new Promise((go) => setTimeout(go, pause));
    }
}"""
"""Typing by the clock of the page, which is that of its pauses, however busy the machine is."""


def test_results_come_as_you_type_and_requests_do_not_pile_up(tab: Tab) -> None:
    page = tab.go("/")
    asked: list[str] = []
    open_at_once, most = 0, 0

    def begin(request: Request) -> None:
        nonlocal open_at_once, most
        if "?q=" in request.url:
            asked.append(request.url)
            open_at_once += 1
            most = max(most, open_at_once)

    def end(request: Request) -> None:
        nonlocal open_at_once
        open_at_once -= "?q=" in request.url

    page.on("request", begin)
    page.on("requestfinished", end)
    page.on("requestfailed", end)
    query = "tea over coffee in the morning"
    field = page.get_by_label("Search the memory")
    page.evaluate(TYPE, [field.element_handle(), query, 15])
    expect(page.locator(".hit").first).to_contain_text("tea over coffee")
    expect(page).to_have_url(f"{tab.server.address}/?{'q=tea+over+coffee+in+the+morning&in='}")
    expect(page.locator("#results")).not_to_have_attribute("aria-busy", "true")
    assert len(asked) == 1, "a user who types quickly sends one request"
    asked.clear()
    page.evaluate(TYPE, [field.element_handle(), " of every day", 150])
    expect(page).to_have_url(re.compile("every\\+day"))
    expect(page.locator("#results")).not_to_have_attribute("aria-busy", "true")
    assert len(asked) > 1, "results come while a user types slowly"
    assert most <= 2, "requests piled up"


def test_a_screen_reader_is_told_how_many_results_there_are_and_does_not_read_out_all(tab: Tab) -> None:
    page = tab.go("/")
    told = page.locator("[aria-live]")
    expect(told).to_have_count(1)
    page.get_by_label("Search the memory").fill("tea over coffee")
    expect(told).to_contain_text(re.compile(r"^\d+ results?"))
    expect(told).not_to_contain_text("tea over coffee")
    page = tab.go("/agent")
    page.get_by_label("Prompt").fill("tea or coffee?")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("[aria-live]")).to_contain_text("tokens in all")


def test_a_list_is_filtered_as_you_type(tab: Tab) -> None:
    page = tab.go("/browse?memory=memory-lancedb")
    items = page.locator("#items")
    page.get_by_label("Filter the list").fill("preference")
    expect(items).not_to_contain_text("Bram runs the crane crew.")
    expect(items).to_contain_text("I prefer tea over coffee.")
    expect(page).to_have_url(re.compile("find=preference"))
    page.get_by_label("Filter the list").fill("")
    expect(items).to_contain_text("Bram runs the crane crew.")


def test_an_answer_that_comes_late_does_not_replace_a_newer_one(tab: Tab) -> None:
    page = tab.go("/")
    field = page.get_by_label("Search the memory")
    held = []
    page.route("**/?q=crane*", lambda route: held.append(route))
    field.fill("crane crew")
    expect(page.locator("#results")).to_have_attribute("aria-busy", "true")
    field.fill("tide predictions")
    expect(page.locator(".hit").first).to_contain_text("ide")
    for route in held:
        route.fulfill(status=200, body='<div id="results">too late</div>', content_type="text/html")
    page.evaluate("new Promise((go) => setTimeout(go, 200))")
    expect(page.locator("#results")).not_to_contain_text("too late")
    page.unroute_all()


def test_a_person_with_a_keyboard_alone_gets_everywhere(tab: Tab) -> None:
    page = tab.go("/settings")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("/")
    page.wait_for_url(f"{tab.server.address}/")
    expect(page.get_by_label("Search the memory")).to_be_focused()
    page.keyboard.type("PostgreSQL")
    expect(page.locator(".hit").first).to_contain_text("PostgreSQL")
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('path')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/browse/item**")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Edit":
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Save")).to_be_visible()


def test_everything_can_be_reached_and_named_by_a_screen_reader(tab: Tab) -> None:
    for address in PAGES.values():
        page = tab.go(address)
        nameless = page.evaluate(
            """[...document.querySelectorAll('a, button, input:not([type=hidden]), select, textarea')]
            .filter(each => !each.closest('[aria-hidden]') && !each.closest('.map'))
            .filter(each => !(each.textContent.trim() || each.getAttribute('aria-label') || each.labels?.length))
            .map(each => each.outerHTML)"""
        )
        assert nameless == [], address


def test_search_and_writes_work_without_scripts(chromium: Browser, server: Server, signed_in: Any) -> None:
    context = patient(chromium.new_context(java_script_enabled=False, storage_state=signed_in))
    page = context.new_page()
    page.goto(server.address)
    page.get_by_label("Search the memory").fill("tea over coffee")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".hit").first).to_contain_text("tea over coffee")
    page.goto(f"{server.address}/settings")
    page.get_by_role("link", name="Run doctor").click()
    expect(page.locator("main")).to_contain_text("embeddings")
    page.goto(f"{server.address}/browse/item?memory=memory-core&path=MEMORY.md&view=edit")
    page.get_by_label("Text").fill("Written without a script.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("Saved.")
    assert (server.workspace / "MEMORY.md").read_text() == "Written without a script.\n"
    context.close()


def test_the_map_tells_what_is_pointed_at_and_leads_there(tab: Tab) -> None:
    page = tab.go("/pictures?memory=memory-lancedb")
    dot = page.locator(".map a").first
    dot.hover(force=True)
    text = dot.locator("title").text_content()
    expect(page.locator("#point")).to_have_text(str(text))
    dot.click(force=True)
    page.wait_for_url("**/browse/item**")
    expect(page.locator("main")).to_contain_text(str(text)[:20])


def test_eight_tabs_at_once(context: BrowserContext, tab: Tab) -> None:
    words = ("tea", "berth plan", "tide", "crane crew", "Noor", "disk", "Friday", "Delft")
    pages = [context.new_page() for _ in words]
    for page in pages:
        page.goto(tab.server.address)
    for page, word in zip(pages, words, strict=True):
        page.get_by_label("Search the memory").press_sequentially(word, delay=5)
    for page, word in zip(pages, words, strict=True):
        expect(page.locator(".hits")).to_contain_text(word.split()[0], ignore_case=True)


def test_a_server_that_is_gone_is_told(own_tab: Tab) -> None:
    page = own_tab.go("/")
    own_tab.server.process.terminate()
    own_tab.server.process.wait(30)
    page.get_by_label("Search the memory").fill("tea")
    expect(page.locator("#results")).to_contain_text("does not answer")
