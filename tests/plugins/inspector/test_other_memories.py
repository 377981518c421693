"""A stranger's memory is shown like ours, and what agents find is counted if somebody asks for it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from memslot import CanRefresh, Host
from memslot_inspector import hit_count

from tests.inspected_home import fill_home, run, serving
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


@pytest.fixture(params=["bare", "listing"])
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    plugin = tmp_path / "stranger"
    plugin.mkdir()
    (plugin / "__init__.py").write_text(STRANGER, encoding="utf-8")
    (plugin / "memslot.plugin.json").write_text(
        '{"id": "stranger", "kind": "memory", "name": "Stranger", "description": "A memory.", "version": "1.0",'
        ' "minHostApi": 1,'
        ' "configSchema": {"type": "object", "properties": {"lists": {"type": "boolean"},'
        ' "apiKey": {"type": "string"}, "address": {"type": "string"}}}}',
        encoding="utf-8",
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


def test_what_tools_find_is_counted_only_if_asked_for(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "MEMORY.md").write_text("The heron nests by the old crane.\n", encoding="utf-8")
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
            file = host.places.plugin_state_dir("inspector") / f"hits-{host.agent_id}.json"
        assert hit_count.read(file) == ({"memory-core:MEMORY.md": 1} if counts else {})
