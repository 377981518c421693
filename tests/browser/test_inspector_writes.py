"""Every write in a real browser."""

from __future__ import annotations

import contextlib
import os
import signal

import pytest
from playwright.sync_api import Error, expect

from tests.browser.conftest import Tab
from tests.inspected_home import CONFIG, KEY, NOTES

pytestmark = pytest.mark.browser


def test_a_note_is_edited(tab: Tab) -> None:
    page = tab.go("/browse/item?memory=memory-core&path=MEMORY.md")
    page.get_by_role("link", name="Edit").click()
    editor = page.get_by_label("Text")
    assert editor.input_value().strip() == NOTES["MEMORY.md"].strip()
    editor.fill(editor.input_value().replace("tea over coffee", "cocoa over tea"))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("Saved.")
    expect(page.locator(".prose")).to_contain_text("cocoa over tea")
    tab.picture("edited")
    page.reload()
    expect(page.locator(".prose")).to_contain_text("cocoa over tea")
    expect(page.get_by_role("status")).to_have_count(0)  # it is not saved again
    written = (tab.server.workspace / "MEMORY.md").read_text()
    assert written == NOTES["MEMORY.md"].replace("tea over coffee", "cocoa over tea")


def test_an_edit_of_a_note_that_changed_meanwhile_is_refused(tab: Tab) -> None:
    page = tab.go("/browse/item?memory=memory-core&path=MEMORY.md&view=edit")
    (tab.server.workspace / "MEMORY.md").write_text("Somebody was quicker.\n")
    page.get_by_label("Text").fill("Mine.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("changed meanwhile")
    expect(page.locator(".diff .removed")).to_contain_text("Somebody was quicker.")
    expect(page.locator(".diff .added")).to_contain_text("Mine.")
    tab.picture("edit-refused")
    assert tab.accessibility_faults() == []
    assert (tab.server.workspace / "MEMORY.md").read_text() == "Somebody was quicker.\n"
    assert page.get_by_label("Text").input_value().strip() == "Mine.", "what the person typed is lost"
    page.get_by_role("button", name="Save mine").click()
    expect(page.get_by_role("status")).to_contain_text("Saved.")
    assert (tab.server.workspace / "MEMORY.md").read_text() == "Mine.\n"


def test_something_is_remembered_forgotten_and_brought_back(tab: Tab) -> None:
    text = "The lighthouse keeper is called Wout."
    page = tab.go("/browse?memory=memory-lancedb")
    page.get_by_label("Remember something").fill(text)
    page.get_by_role("button", name="Remember").click()
    expect(page.get_by_role("status")).to_contain_text("Remembered.")
    page = tab.go("/browse?memory=memory-lancedb")
    page.get_by_label(f"Choose: {text}").check()
    page.get_by_role("button", name="Forget the chosen").click()
    expect(page.locator("main")).to_contain_text(text)
    tab.picture("forget-question")
    page.get_by_role("button", name="Forget 1 item").click()
    expect(page.get_by_role("status")).to_contain_text("Forgotten.")
    expect(page.locator("main")).not_to_contain_text(text)
    page.get_by_role("link", name="History").click()
    page.get_by_role("button", name="Restore version").first.click()
    expect(page.get_by_role("status")).to_contain_text("That version was restored.")
    expect(tab.go("/browse?memory=memory-lancedb").locator("main")).to_contain_text(text)


def test_a_captured_memory_is_edited(tab: Tab) -> None:
    page = tab.go("/browse?memory=memory-lancedb")
    page.get_by_role("link", name="The harbour office closes at six.").click()
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Text").fill("The harbour office closes at seven.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".prose")).to_contain_text("closes at seven")
    expect(tab.go("/?q=harbour office&in=memory-lancedb").locator(".hit").first).to_contain_text("closes at seven")


def test_settings_are_changed_after_a_look_at_the_diff(tab: Tab) -> None:
    page = tab.go("/settings/plugin?id=memory-lancedb")
    page.get_by_label("Capture after each run").select_option("true")
    page.get_by_text("Advanced").click()
    page.get_by_label("Memories before a prompt").fill("6")
    page.get_by_role("button", name="See the change").click()
    expect(page.locator(".diff")).to_contain_text("recallLimit: 6")
    assert KEY not in page.content()
    tab.picture("settings-diff")
    assert tab.accessibility_faults() == []
    file = tab.server.home / "memslot.json5"
    assert file.read_text() == CONFIG
    page.get_by_role("button", name="Write it").click()
    expect(page.get_by_role("status").first).to_contain_text("The settings are written.")
    assert "recallLimit: 6" in file.read_text()
    assert "// Kept small on purpose." in file.read_text()
    assert KEY in file.read_text()


def test_a_refused_setting_is_said_in_one_sentence(tab: Tab) -> None:
    page = tab.go("/settings/plugin?id=memory-lancedb")
    page.get_by_label("Embedding provider").fill("")
    page.get_by_label("Embedding model").fill("   ")
    page.get_by_label("Database").fill("\u0000")
    page.get_by_role("button", name="See the change").click()
    assert (tab.server.home / "memslot.json5").read_text() == CONFIG


def test_the_memories_of_the_slot_change_places_by_drag_and_by_select(tab: Tab) -> None:
    page = tab.go("/settings")
    page.locator(".slots li").nth(0).locator("label").drag_to(page.locator(".slots li").nth(1).locator("label"))
    expect(page.get_by_label("Owner")).to_have_value("memory-lancedb")
    page.get_by_role("button", name="See the change").click()
    expect(page.locator(".diff")).to_contain_text('["memory-lancedb", "memory-core"]')
    page.get_by_role("button", name="Write it").click()
    expect(page.get_by_label("Owner")).to_have_value("memory-lancedb")
    page.get_by_label("Beside it").select_option("")
    page.get_by_role("button", name="See the change").click()
    page.get_by_role("button", name="Write it").click()
    expect(page.get_by_label("Owner")).to_have_value("memory-lancedb")
    expect(page.get_by_label("Beside it")).to_have_value("")
    assert 'memory: "memory-lancedb"' in (tab.server.home / "memslot.json5").read_text()


def test_a_server_that_is_killed_during_a_write_leaves_the_note_whole(own_tab: Tab) -> None:
    page = own_tab.go("/browse/item?memory=memory-core&path=MEMORY.md&view=edit")
    long = NOTES["MEMORY.md"] + "A line of the new text.\n" * 300
    page.get_by_label("Text").fill(long)
    page.on("request", lambda request: request.method == "POST" and os.kill(own_tab.server.process.pid, signal.SIGKILL))
    with contextlib.suppress(Error):  # Chromium shows a page of its own
        page.get_by_role("button", name="Save").click()
    own_tab.server.process.wait(30)
    assert (own_tab.server.workspace / "MEMORY.md").read_text() in (NOTES["MEMORY.md"], long)
