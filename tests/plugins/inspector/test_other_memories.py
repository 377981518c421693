"""A stranger's memory is shown like ours, and what agents find is counted if somebody asks for it."""

from __future__ import annotations

import json
import signal
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from memslot import CanRefresh, Host
from memslot_inspector import hit_count

from tests.inspected_home import WAIT, fill_home, run, serving
from tests.plugins.inspector.conftest import opened
from tests.plugins.inspector.test_pages import read

URL = "https://ada:s3cretpassw0rd@store.example"
STRANGER = '''
"""A memory that can only search, and one that also lists."""

from memslot import MemoryHit, MemoryItem, MemoryPage, MemorySearchOutcome, MemoryStatus, hookimpl

TEXT = "The <b>heron</b> nests by the old crane."


class Bare:
    def search(self, query, *, max_results=None):
        return MemorySearchOutcome([MemoryHit("nest", 0.9, TEXT, explanation={"luck": 0.5})], mode="guess")

    def status(self):
        return MemoryStatus("bare", {"nests": 1})

    def close(self):
        pass


class Listing(Bare):
    def list_items(self, *, cursor=None, limit=100, session=None):
        return MemoryPage([MemoryItem("nest", TEXT, details={"category": "bird", "importance": "high", "x": object()})])


@hookimpl
def register_memory(ctx):
    return Listing() if ctx.config.get("lists") else Bare()
'''
BROKEN = '''
"""A memory whose list hangs, or fails."""

import threading
from pathlib import Path

from memslot import MemoryPage, MemorySearchOutcome, MemoryStatus, hookimpl


class Broken:
    def search(self, query, *, max_results=None):
        return MemorySearchOutcome([])

    def status(self):
        return MemoryStatus("broken", {})

    def close(self):
        pass

    def list_items(self, *, cursor=None, limit=100, session=None):
        if cursor == "fail":
            raise ValueError("secret <b>of</b> the plugin")
        Path(__file__).with_name("hangs").touch()
        threading.Event().wait()


@hookimpl
def register_memory(ctx):
    return Broken()
'''


def write_plugin(folder: Path, plugin_id: str, code: str, config_schema: str) -> Path:
    plugin = folder / plugin_id
    plugin.mkdir()
    (plugin / "__init__.py").write_text(code, encoding="utf-8")
    (plugin / "memslot.plugin.json").write_text(
        f'{{"id": "{plugin_id}", "kind": "memory", "name": "{plugin_id}", "description": "A memory.", "version": "1.0",'
        f' "minHostApi": 1, "configSchema": {config_schema}}}',
        encoding="utf-8",
    )
    return plugin


@pytest.fixture(params=["bare", "listing"])
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    plugin = write_plugin(
        tmp_path,
        "stranger",
        STRANGER,
        '{"type": "object", "properties": {"lists": {"type": "boolean"},'
        ' "apiKey": {"type": "string"}, "address": {"type": "string"}}}',
    )
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    lists = str(request.param == "listing").lower()
    (home / "memslot.json5").write_text(
        textwrap.dedent(
            f"""
            {{ plugins: {{
                load: {{ paths: ["{plugin}"] }},
                slots: {{ memory: "stranger" }},
                entries: {{ stranger: {{ config: {{ lists: {lists}, apiKey: "hunter2hunter2", address: "{URL}" }} }} }},
            }} }}
            """
        ),
        encoding="utf-8",
    )
    return home


def test_a_strangers_memory_is_shown_by_what_it_can_do(home: Path) -> None:
    with serving(home) as server, opened(server) as browser:
        found = browser.get("/?q=heron")
        assert "The <b>heron</b> nests" in read(found.text).text
        assert "luck" in found.text
        for path in ("/", "/browse", "/agent?prompt=x", "/sessions", "/pictures", "/audit", "/settings"):
            answer = browser.get(path)
            assert answer.status_code == 200, f"{path}: {answer.text}"
            assert read(answer.text).faults == []
        refused = browser.get("/browse/item?memory=stranger&path=nest")
        assert refused.status_code == 400
        assert "stranger cannot read" in refused.text
        for path in ("/browse/save", "/browse/forget", "/browse/history", "/browse/remember"):
            assert browser.post(path, {"memory": "stranger", "path": "nest", "text": "x"}).status_code == 400


def test_an_empty_slot_is_told_on_every_page_that_needs_a_memory(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "memslot.json5").write_text('{ plugins: { slots: { memory: "none" } } }', encoding="utf-8")
    with serving(home) as server, opened(server) as browser:
        for address in ("/", "/?q=tea", "/browse", "/pictures", "/audit"):
            answer = browser.get(address)
            assert answer.status_code == 200, address
            page = read(answer.text)
            assert 'No memory is in use: plugins.slots.memory is "none"' in page.text, address
            assert "Nothing was found" not in page.text, address
            assert page.links.count("/settings") == 2, "in the menu, and as what to do"


def test_a_glossary_that_can_only_search_stands_beside_our_memories(tmp_path: Path) -> None:
    fill_home(tmp_path)
    plugin = Path(__file__).parents[3] / "examples" / "memory_glossary" / "memory_glossary"
    (tmp_path / "workspace" / "GLOSSARY.md").write_text("HTX: the <b>harbour tax</b> export, at 02:00\n")
    run(tmp_path, "config", "set", "plugins.load.paths", f'["{plugin}"]')
    run(tmp_path, "config", "set", "plugins.slots.memory", '["memory-core", "memory-lancedb", "memory-glossary"]')
    with serving(tmp_path) as server, opened(server) as browser:
        found = browser.get("/?q=why did HTX fail").text
        assert "HTX: the &lt;b&gt;harbour tax&lt;/b&gt; export" in found
        alone = browser.get("/?q=HTX&in=memory-glossary").text
        assert alone.count('class="card hit"') == 1
        assert "harbour tax" in read(browser.get("/agent?prompt=why did HTX fail?").text).text
        without = browser.get("/agent?prompt=why did HTX fail?&without=memory-glossary").text
        assert "Without memory-glossary" in without
        for path in ("/browse?memory=memory-glossary", "/pictures?memory=memory-glossary", "/audit", "/settings"):
            answer = browser.get(path)
            assert answer.status_code == 200, f"{path}: {answer.text}"
            assert "memory-glossary" in answer.text or path == "/audit"
            assert read(answer.text).faults == []
        assert "Path of the glossary" in browser.get("/settings/plugin?id=memory-glossary").text


HANGING = """
import time
from memslot import MemoryItem, MemoryPage, MemorySearchOutcome, MemoryStatus, hookimpl

class Broken:
    def search(self, query, *, max_results=None):
        return MemorySearchOutcome([], mode="words")

    def status(self):
        return MemoryStatus("broken")

    def audit(self):
        raise RuntimeError("the audit is on fire")

    def list_items(self, *, cursor=None, limit=100, session=None):
        time.sleep(600)

    def close(self):
        pass

@hookimpl
def register_memory(ctx):
    return Broken()
"""


def test_a_memory_that_fails_or_hangs_costs_the_others_nothing(tmp_path: Path) -> None:
    fill_home(tmp_path)
    plugin = tmp_path / "broken"
    plugin.mkdir()
    (plugin / "__init__.py").write_text(HANGING, encoding="utf-8")
    (plugin / "memslot.plugin.json").write_text(
        '{"id": "broken", "kind": "memory", "name": "Broken", "description": "A memory.", "version": "1.0"}',
        encoding="utf-8",
    )
    run(tmp_path, "config", "set", "plugins.load.paths", f'["{plugin}"]')
    run(tmp_path, "config", "set", "plugins.slots.memory", '["broken", "memory-core", "memory-lancedb"]')
    with serving(tmp_path) as server, opened(server) as browser:
        audit = browser.get("/audit").text
        assert "broken failed: RuntimeError: the audit is on fire" in audit
        assert "<h2>memory-core</h2>" in audit
        with pytest.raises(httpx2.ReadTimeout):
            browser.client.get("/browse?memory=broken", timeout=0.5)
        assert browser.get("/browse?memory=memory-core").status_code == 200
    # The process has ended, although a call of the memory still hangs.


def test_a_manifest_that_is_made_to_be_markup_stays_text(tmp_path: Path) -> None:
    evil = '"><script>window.hacked=1</script><img src=x onerror=hacked=2>'
    properties = {
        "a": {"type": "string", "default": evil, "description": evil},
        evil: {"type": "string"},
        "choice": {"enum": [evil, 1, None, {"x": evil}], "default": evil},
        "choices": {"type": "array", "items": {"enum": [evil, "b"]}, "default": [evil]},
        "number": {"type": "integer", "minimum": -(10**400), "default": 3},
        "object": {"type": "object", "default": {evil: evil}},
        "any": {},
        "bool": True,
    }
    hints = {"a": {"label": evil, "help": evil, "placeholder": evil}, "number": {"label": evil, "advanced": True}}
    plugin = write_plugin(tmp_path, "evil", BROKEN, json.dumps({"type": "object", "properties": properties}))
    manifest = json.loads((plugin / "memslot.plugin.json").read_text())
    manifest |= {"name": evil, "description": evil, "uiHints": hints, "provides": {"tools": [evil]}}
    (plugin / "memslot.plugin.json").write_text(json.dumps(manifest), encoding="utf-8")
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    config = {"load": {"paths": [str(plugin)]}, "entries": {"evil": {"config": {"a": evil, "number": 4}}}}
    (home / "memslot.json5").write_text(json.dumps({"plugins": config}), encoding="utf-8")
    with serving(home) as server, opened(server) as browser:
        for path in ("/settings", "/settings/plugin?id=evil", "/settings/doctor"):
            page = read(browser.get(path).text)
            assert page.faults == [], path
            assert evil in page.text or path == "/settings/doctor"
        for number in ("-5", "many" + evil, "9" * 5000):
            values = {"form": "plugin", "id": "evil", "set.config.number": number, "set.config.a": evil}
            assert read(browser.post("/settings/preview", values).text).faults == []


def test_a_secret_that_no_manifest_marks_is_not_sent_to_the_browser(home: Path) -> None:
    with serving(home) as server, opened(server) as browser:
        form = browser.get("/settings/plugin?id=stranger").text
        values = {"form": "plugin", "id": "stranger", "set.config.lists": ""}
        preview = browser.post("/settings/preview", {**values, "set.config.apiKey": "", "set.config.address": ""}).text
    assert form.count('type="password"') == 2
    assert "-" in preview
    for page in (form, preview):
        assert "hunter2" not in page
        assert "s3cretpassw0rd" not in page


def test_a_memory_that_hangs_or_fails_stops_neither_other_pages_nor_the_end(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path, "broken", BROKEN, '{"type": "object"}')
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    config = f'{{ plugins: {{ load: {{ paths: ["{plugin}"] }}, slots: {{ memory: "broken" }} }} }}'
    (home / "memslot.json5").write_text(config, encoding="utf-8")
    with serving(home) as server, ThreadPoolExecutor(1) as pool:
        with opened(server) as browser:
            failed = browser.get("/browse?cursor=fail")
            assert failed.status_code == 500
            assert "/settings" in read(failed.text).links, "the menu is there"
            assert "secret" not in failed.text
            waiting = pool.submit(httpx2.get, f"{server.address}/browse", cookies=browser.client.cookies, timeout=None)
            deadline = time.monotonic() + WAIT
            while not (plugin / "hangs").exists():
                assert time.monotonic() < deadline
                time.sleep(0.02)
            assert browser.get("/sessions").status_code == 200
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(WAIT) == 0
        waiting.exception(WAIT)  # cut off, or told that it failed


def test_what_tools_find_is_counted_only_if_asked_for(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "MEMORY.md").write_text("The heron nests by the old crane.\n", encoding="utf-8")
    (workspace / "memory" / "old notes.md").write_text("The ferry sails at nine.\n", encoding="utf-8")
    (workspace / "memory" / "other.md").write_text("Nobody ever asks for this.\n", encoding="utf-8")
    for counts in (False, True):
        config = {
            "agents": {"defaults": {"workspace": str(workspace)}},
            "plugins": {"entries": {"inspector": {"config": {"countHits": counts}}}},
        }
        with Host.load(config, home=tmp_path) as host:
            assert isinstance(host.memory, CanRefresh)
            host.memory.refresh()  # a search does not wait long for the index
            found = host.call_tool("memory_search", {"query": "heron nests", "maxResults": 1})
            assert "MEMORY.md" in found.text
            host.call_tool("memory_search", {"query": "when does the ferry sail", "maxResults": 1})
            file = host.places.plugin_state_dir("inspector") / f"hits-{host.agent_id}.json"
        paths = ("MEMORY.md", "memory/old notes.md")
        assert hit_count.read(file) == ({f"memory-core:{path}": 1 for path in paths} if counts else {})
