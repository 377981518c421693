"""What can be changed in the inspector, and that nothing is lost by it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.inspected_home import CONFIG, KEY, NOTES, WAIT, Server, run, serving
from tests.plugins.inspector.conftest import Browser, opened
from tests.plugins.inspector.test_pages import read

NOTE = {"memory": "memory-core", "path": "MEMORY.md"}
EDIT = "/browse/item?memory=memory-core&path=MEMORY.md&view=edit"
TOKEN_LINE = "- The key of the pager is ghp_" + "A1b2C3d4E5" * 4


@pytest.fixture
def note(server: Server) -> Iterator[Path]:
    """MEMORY.md as it was at the beginning."""
    file = server.workspace / "MEMORY.md"
    file.write_text(NOTES["MEMORY.md"], encoding="utf-8")
    yield file
    file.write_text(NOTES["MEMORY.md"], encoding="utf-8")


@pytest.fixture
def config(server: Server) -> Iterator[Path]:
    file = server.home / "memslot.json5"
    file.write_text(CONFIG, encoding="utf-8")
    yield file
    file.write_text(CONFIG, encoding="utf-8")


def shown_text(browser: Browser, address: str) -> str:
    """What an editor holds."""
    from html import unescape

    found = re.search(r"<textarea[^>]*>\n?(.*?)</textarea>", browser.get(address).text, re.DOTALL)
    assert found is not None
    return unescape(found[1])


def save(browser: Browser, text: str, digest: str | None = None) -> int:
    given = digest if digest is not None else browser.field(EDIT, "digest")
    return browser.post("/browse/save", {**NOTE, "digest": given, "text": text}).status_code


def test_a_saved_note_is_on_disk_and_found(browser: Browser, note: Path) -> None:
    text = shown_text(browser, EDIT).replace("tea over coffee", "cocoa over everything")
    assert save(browser, text) == 303
    assert note.read_text() == NOTES["MEMORY.md"].replace("tea over coffee", "cocoa over everything")
    deadline = time.monotonic() + WAIT  # it is indexed in the background
    while "cocoa over everything" not in (found := read(browser.get("/?q=cocoa over everything").text).text):
        assert time.monotonic() < deadline, found


def test_what_a_browser_sends_with_crlf_changes_no_other_line(browser: Browser, note: Path) -> None:
    text = shown_text(browser, EDIT).replace("\n", "\r\n")
    assert save(browser, text) == 303
    assert note.read_text() == NOTES["MEMORY.md"]


def test_a_secret_is_never_shown_and_stays_in_a_line_that_was_not_edited(browser: Browser, note: Path) -> None:
    note.write_text(f"{NOTES['MEMORY.md']}{TOKEN_LINE}\n", encoding="utf-8")
    text = shown_text(browser, EDIT)
    assert "ghp_A1b2" not in browser.get(EDIT).text
    assert save(browser, text.replace("I am Ada", "I am Ada Lovelace")) == 303
    assert TOKEN_LINE in note.read_text()
    assert "Ada Lovelace" in note.read_text()


def test_a_secret_that_a_person_types_is_redacted(browser: Browser, note: Path) -> None:
    assert save(browser, shown_text(browser, EDIT) + f"\n{TOKEN_LINE}") == 303
    assert "ghp_A1b2" not in note.read_text()


def test_a_note_that_changed_meanwhile_is_not_overwritten(browser: Browser, note: Path) -> None:
    digest, text = browser.field(EDIT, "digest"), shown_text(browser, EDIT)
    note.write_text("An editor was quicker.\n", encoding="utf-8")
    values = {**NOTE, "digest": digest, "text": f"{text}\nmine"}
    answer = browser.post("/browse/save", values)
    assert answer.status_code == 409
    assert note.read_text() == "An editor was quicker.\n"
    page = read(answer.text)
    assert "-An editor was quicker." in page.text, "what saving would take away is shown"
    assert "+mine" in page.text
    assert page.faults == []
    fresh = answer.text.partition('name="digest" value="')[2].partition('"')[0]
    assert browser.post("/browse/save", {**values, "digest": fresh}).status_code == 303, "and may be done all the same"
    assert note.read_text().endswith("mine\n")


def test_a_text_that_cannot_be_saved_is_not_lost(browser: Browser) -> None:
    note = browser.server.workspace / "memory" / "short-lived.md"
    note.write_text("Soon gone.\n", encoding="utf-8")
    values = {"memory": "memory-core", "path": "memory/short-lived.md"}
    values["digest"] = browser.field(f"/browse/item?{urlencode(values)}&view=edit", "digest")
    note.unlink()
    answer = browser.post("/browse/save", {**values, "text": "An hour's work, <b>typed</b>."})
    assert answer.status_code == 400
    page = read(answer.text)
    assert "memory/short-lived.md is gone" in page.text
    assert "An hour's work, <b>typed</b>." in page.text
    assert page.faults == []
    assert not note.exists()


def test_an_editor_keeps_every_character_of_a_hostile_note(browser: Browser) -> None:
    for name in ("hostile-script.md", "hostile-signs.md"):
        file = browser.server.workspace / "memory" / name
        before = file.read_bytes()
        address = f"/browse/item?memory=memory-core&path=memory/{name}&view=edit"
        values = {"memory": "memory-core", "path": f"memory/{name}", "digest": browser.field(address, "digest")}
        assert browser.post("/browse/save", {**values, "text": shown_text(browser, address)}).status_code == 303
        assert file.read_bytes() == before


@pytest.mark.parametrize("path", ["../memslot.json5", "/etc/passwd", "memory/missing.md", ""])
def test_nothing_outside_the_memory_is_written(browser: Browser, config: Path, path: str) -> None:
    values = {"memory": "memory-core", "path": path, "digest": "x", "text": "planted"}
    assert browser.post("/browse/save", values).status_code == 400
    assert config.read_text() == CONFIG


def test_remember_keeps_a_text_in_the_memory_that_is_named(browser: Browser) -> None:
    for memory, text in (
        ("memory-core", "The lock keeper is Sanne."),
        ("memory-lancedb", "The pilot boat is Zeehond."),
    ):
        answer = browser.post("/browse/remember", {"memory": memory, "text": text})
        assert answer.status_code == 303
        assert "notice=remembered" in answer.headers["location"]
        assert text in read(browser.get(answer.headers["location"]).text).text
    again = browser.post("/browse/remember", {"memory": "memory-lancedb", "text": "The pilot boat is Zeehond."})
    assert "notice=known" in again.headers["location"]
    assert browser.post("/browse/remember", {"memory": "memory-lancedb", "text": "  "}).status_code == 400


def test_forgetting_shows_first_what_goes_and_can_be_undone(browser: Browser) -> None:
    text, beside = "The old ferry timetable hangs by the door.", "The new ferry timetable hangs by the gate."
    browser.post("/browse/remember", {"memory": "memory-lancedb", "text": beside})
    where = browser.post("/browse/remember", {"memory": "memory-lancedb", "text": text}).headers["location"]
    path = re.search(r"path=(ltm%2F[\w-]+)", where)
    assert path is not None
    chosen = path[1].replace("%2F", "/")
    question = browser.get(f"/browse/forget?memory=memory-lancedb&path={chosen}").text
    assert text in question
    assert text in browser.get("/browse?memory=memory-lancedb").text, "asking must not forget"
    done = browser.post("/browse/forget", {"memory": "memory-lancedb", "path": [chosen]})
    assert "notice=forgotten" in done.headers["location"]
    left = browser.get("/browse?memory=memory-lancedb").text
    assert text not in left
    assert beside in left, "only what was shown is forgotten"
    again = browser.post("/browse/forget", {"memory": "memory-lancedb", "path": [chosen]})
    assert "notice=gone" in again.headers["location"]
    versions = re.findall(r'name="version" value="(\d+)"', browser.get("/browse/history?memory=memory-lancedb").text)
    back = browser.post("/browse/history", {"memory": "memory-lancedb", "version": versions[0]})
    assert "notice=restored" in back.headers["location"]
    assert text in browser.get("/browse?memory=memory-lancedb").text


def test_several_are_forgotten_at_once(browser: Browser) -> None:
    paths = []
    for text in ("Buoy seven is out of order.", "Buoy nine was repainted."):
        where = browser.post("/browse/remember", {"memory": "memory-lancedb", "text": text}).headers["location"]
        paths.append(where.partition("path=")[2].partition("&")[0].replace("%2F", "/"))
    browser.post("/browse/forget", {"memory": "memory-lancedb", "path": paths})
    left = browser.get("/browse?memory=memory-lancedb").text
    assert "Buoy" not in left
    assert browser.post("/browse/forget", {"memory": "memory-lancedb"}).status_code == 400


# Settings

LANCE = {"form": "plugin", "id": "memory-lancedb"}


def change_id(page: str) -> str:
    return page.partition('name="change" value="')[2].partition('"')[0]


def test_settings_are_shown_as_a_diff_and_written_with_comments_kept(browser: Browser, config: Path) -> None:
    page = browser.post("/settings/preview", {**LANCE, "set.config.recallLimit": "7", "set.config.autoCapture": "true"})
    assert config.read_text() == CONFIG, "a preview writes nothing"
    shown = read(page.text).text
    assert "recallLimit: 4" in shown
    assert "recallLimit: 7" in shown
    assert KEY not in page.text
    done = browser.post("/settings/save", {"change": change_id(page.text)})
    assert done.headers["location"] == "/settings?notice=settings"
    written = config.read_text()
    assert "recallLimit: 7" in written
    assert "// Kept small on purpose." in written
    assert "// notes own the slot" in written
    assert KEY in written
    assert json.loads(run(browser.server.home, "config", "get", "--json"))["plugins"]["entries"]["memory-lancedb"][
        "config"
    ]["autoCapture"]


def test_settings_that_a_plugin_describes_in_a_section_are_written_there(browser: Browser, config: Path) -> None:
    form = browser.get("/settings/plugin?id=memory-core").text
    assert "agents.defaults.memorySearch" in form
    values = {"set.memorySearch.query.maxResults": "12", "set.memory.citations": "off"}
    page = browser.post("/settings/preview", {"form": "plugin", "id": "memory-core", **values})
    assert browser.post("/settings/save", {"change": change_id(page.text)}).status_code == 303
    told = json.loads(run(browser.server.home, "config", "get", "--json"))
    assert told["agents"]["defaults"]["memorySearch"]["query"]["maxResults"] == 12
    assert told["memory"]["citations"] == "off"


def test_a_confirmed_change_is_written_once(browser: Browser, config: Path) -> None:
    page = browser.post("/settings/preview", {**LANCE, "set.config.recallLimit": "9"}).text
    assert browser.post("/settings/save", {"change": change_id(page)}).status_code == 303
    assert browser.post("/settings/save", {"change": change_id(page)}).status_code == 400
    assert browser.post("/settings/save", {"change": "made-up"}).status_code == 400


def test_settings_that_changed_meanwhile_are_not_overwritten(browser: Browser, config: Path) -> None:
    page = browser.post("/settings/preview", {**LANCE, "set.config.recallLimit": "9"}).text
    other = CONFIG.replace("recallLimit: 4", "recallLimit: 5")
    config.write_text(other, encoding="utf-8")
    assert browser.post("/settings/save", {"change": change_id(page)}).status_code == 400
    assert config.read_text() == other


def test_an_empty_field_restores_the_default(browser: Browser, config: Path) -> None:
    page = browser.post("/settings/preview", {**LANCE, "set.config.recallLimit": ""}).text
    browser.post("/settings/save", {"change": change_id(page)})
    assert "recallLimit" not in config.read_text()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("recallLimit", "1000"),
        ("recallLimit", "many"),
        ("scope", "world"),
        ("storageOptions", "{"),
        ("autoRecall", "x"),
    ],
)
def test_a_value_that_the_schema_refuses_is_refused(browser: Browser, config: Path, name: str, value: str) -> None:
    answer = browser.post("/settings/preview", {**LANCE, f"set.config.{name}": value})
    assert answer.status_code == 400
    told = answer.text.partition('role="alert">')[2].partition("<")[0]
    label = {"storageOptions": "Storage options", "autoRecall": "Recall before each prompt", "scope": "Scope"}
    assert name in told or label.get(name, "Memories before a prompt") in told, told
    assert config.read_text() == CONFIG


def test_a_secret_is_kept_replaced_or_removed_and_never_shown(browser: Browser, config: Path) -> None:
    form = browser.get("/settings/plugin?id=memory-lancedb").text
    assert KEY not in form
    assert 'type="password"' in form
    fresh = "sk-other-" + "9" * 24
    page = browser.post("/settings/preview", {**LANCE, "set.config.embedding.apiKey": fresh})
    assert fresh not in page.text
    assert KEY not in page.text
    assert "***" in page.text
    browser.post("/settings/save", {"change": change_id(page.text)})
    assert fresh in config.read_text()
    page = browser.post("/settings/preview", {**LANCE, "clear.config.embedding.apiKey": "yes"})
    assert fresh not in page.text
    browser.post("/settings/save", {"change": change_id(page.text)})
    assert "apiKey" not in config.read_text()


def test_the_slot_is_chosen_and_stacked(home: Path, config: Path) -> None:
    with serving(home) as server, opened(server) as browser:
        slots = {"form": "slot", "slot": ["memory-lancedb", "memory-core"]}
        page = browser.post("/settings/preview", slots).text
        browser.post("/settings/save", {"change": change_id(page)})
        assert '["memory-lancedb", "memory-core"]' in config.read_text()
        assert browser.get("/browse").text.index(">memory-lancedb</a>") < browser.get("/browse").text.index(
            ">memory-core</a>"
        ), "the pages go on with the new order"
        page = browser.post("/settings/preview", {"form": "slot", "slot": ["memory-core", ""]}).text
        browser.post("/settings/save", {"change": change_id(page)})
        assert "memory-lancedb" not in browser.get("/pictures").text
        page = browser.post("/settings/preview", {"form": "slot", "slot": ["", ""]}).text
        browser.post("/settings/save", {"change": change_id(page)})
        assert browser.get("/").status_code == 200
        assert "No memory is in use" in browser.get("/browse").text


def test_a_config_that_is_broken_by_hand_is_told_and_the_pages_stay(browser: Browser, config: Path) -> None:
    config.write_text("{ plugins: ", encoding="utf-8")
    page = browser.get("/")
    assert page.status_code == 200
    assert "The settings on disk are not in use" in page.text
    assert browser.get("/settings/doctor").status_code == 200
    config.write_text(CONFIG, encoding="utf-8")
    assert "not in use" not in browser.get("/").text
