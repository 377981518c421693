"""`memslot search`, `remember`, `forget` and `status`: whichever memories are in the slot."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from memslot.cli.app import BUILT_IN
from memslot.plugins.manifest import RESERVED_COMMANDS

SHELF = """
from memslot import MemoryHit, MemoryItem, MemoryPage, MemoryReceipt, MemorySearchOutcome, MemoryStatus, hookimpl

class Shelf:
    def __init__(self, file):
        self.file = file

    def texts(self):
        return self.file.read_text().splitlines() if self.file.exists() else []

    def search(self, query, *, max_results=None):
        words = query.casefold().split()
        found = [(sum(word in text.casefold() for word in words), text) for text in self.texts()]
        hits = [MemoryHit("shelf/" + text.split()[0], n / len(words), text) for n, text in sorted(found)[::-1] if n]
        return MemorySearchOutcome(hits[:max_results], mode="words")

    def remember(self, text, *, session=None):
        self.file.write_text("\\n".join([*self.texts(), text]))
        return MemoryReceipt("shelf/" + text.split()[0])

    def list_items(self, *, cursor=None, limit=100, session=None):
        at = int(cursor or 0)
        rest = self.texts()[at:]
        items = [MemoryItem("shelf/" + text.split()[0], text) for text in rest[:1]]
        return MemoryPage(items, str(at + 1) if rest[1:] else None)

    def forget(self, path):
        kept = [text for text in self.texts() if "shelf/" + text.split()[0] != path]
        is_there = len(kept) < len(self.texts())
        self.file.write_text("\\n".join(kept))
        return is_there

    def status(self):
        return MemoryStatus("shelf", counts={"booksRead": len(self.texts())})

    def close(self):
        pass

@hookimpl
def register_memory(ctx):
    return Shelf(ctx.state_dir() / "shelf.txt")
"""
ILL = """
from memslot import MemorySearchOutcome, MemoryStatus, hookimpl

class Ill:
    def search(self, query, *, max_results=None):
        raise RuntimeError("the\\x1b[31m disk is on fire")

    def status(self):
        return MemoryStatus("ill", problems=["the disk is on fire"])

    def close(self):
        pass

@hookimpl
def register_memory(ctx):
    return Ill()
"""
WALL = """
from memslot import MemoryHit, MemorySearchOutcome, MemoryStatus, hookimpl

class Wall:
    def search(self, query, *, max_results=None):
        return MemorySearchOutcome([MemoryHit("wall/1", 0.9, "The harbour opens on Monday.")], mode="words")

    def status(self):
        return MemoryStatus("wall")

    def close(self):
        pass

@hookimpl
def register_memory(ctx):
    return Wall()
"""


@pytest.fixture
def both(memslot: Any) -> Any:
    """Notes and a shelf in one slot, with something on each."""
    memslot.add_plugin("shelf", SHELF)
    memslot.write_config({"plugins": {"load": memslot.load, "slots": {"memory": ["memory-core", "shelf"]}}})
    notes = memslot.home / "workspace"
    notes.mkdir(mode=0o700)
    (notes / "MEMORY.md").write_text("# Harbour\n\nThe harbour opens on Monday.\n")
    memslot.ok("remember", "Ada drinks green tea.", "--in", "shelf")
    return memslot


def typed(memslot: Any, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*memslot.argv, *arguments],
        env=memslot.env,
        cwd=memslot.project,
        input=text,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


# search


def test_a_search_asks_every_memory_and_gives_one_list(both) -> None:
    both.ok("remember", "The harbour master is Bob.", "--in", "shelf")
    found = both.json("search", "harbour opens")["results"]
    assert [(each["memory"], each["citation"]) for each in found] == [
        ("memory-core", "MEMORY.md#L1-L3"),
        ("shelf", "shelf/The"),
    ]
    assert found[0]["score"] > found[1]["score"]
    shown = both.ok("search", "harbour opens")
    assert shown.index("memory-core  MEMORY.md#L1-L3") < shown.index("The harbour master is Bob.")


def test_a_search_can_be_kept_to_one_memory(both) -> None:
    found = both.json("search", "green tea", "--in", "shelf")
    assert {each["memory"] for each in found["results"]} == set(found["memories"]) == {"shelf"}


def test_a_search_follows_the_number_and_the_floor_it_is_given(both) -> None:
    for number in range(4):
        both.ok("remember", f"Tea{number} is green.", "--in", "shelf")
    assert len(both.json("search", "green", "--in", "shelf", "--max-results", "2")["results"]) == 2
    found = both.json("search", "green tea harbour", "--min-score", "0.5")["results"]
    assert found
    assert all(each["score"] >= 0.5 for each in found)


def test_a_search_finds_what_was_written_a_moment_ago(both) -> None:
    both.ok("search", "harbour")
    (both.home / "workspace" / "memory").mkdir()
    (both.home / "workspace" / "memory" / "ferry.md").write_text("The ferry leaves at nine.\n")
    assert both.json("search", "when does the ferry leave?")["results"][0]["path"] == "memory/ferry.md"


def test_a_search_explains_its_scores_if_asked(both) -> None:
    assert "explain" not in both.json("search", "harbour")["results"][0]
    assert both.json("search", "harbour", "--explain")["results"][0]["explain"]
    assert "\n  relevance: " in both.ok("search", "harbour", "--explain")


def test_one_name_in_the_slot_is_searched_without_naming_it(both) -> None:
    both.ok("config", "set", "plugins.slots.memory", "shelf")
    assert both.ok("search", "green tea").startswith("shelf/Ada  1.00\nAda drinks green tea.\n")


def test_a_memory_that_fails_is_named_and_the_others_answer(both) -> None:
    both.add_plugin("ill", ILL)
    both.ok("config", "set", "plugins.slots.memory", '["ill", "shelf"]')
    done = both("search", "green tea", "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert [each["memory"] for each in told["results"]] == ["shelf"]
    assert told["problems"]["ill"].endswith("disk is on fire")
    assert done.stderr.count("is on fire") == 1
    assert "\x1b" not in done.stdout + done.stderr


def test_a_memory_whose_property_raises_harms_nobody(both) -> None:
    raising = "    @property\n    def read(self):\n        raise RuntimeError('no disk')\n\n    refresh = read\n"
    both.add_plugin("odd", WALL.replace("class Wall:\n", f"class Wall:\n{raising}"))
    both.ok("config", "set", "plugins.slots.memory", '["odd", "shelf"]')
    assert {each["memory"] for each in both.json("search", "green tea")["results"]} == {"odd", "shelf"}
    assert [each["path"] for each in both.json("forget", "green tea")["candidates"]] == ["shelf/Ada"]
    assert both.json("forget", "shelf/Ada", "--yes")["forgotten"]
    assert both.json("status")["memories"][0]["id"] == "odd"


def test_a_search_that_no_memory_answers_fails(both) -> None:
    both.add_plugin("ill", ILL)
    both.ok("config", "set", "plugins.slots.memory", "ill")
    done = both("search", "green tea")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Warning: ill: RuntimeError: the" in done.stderr


# remember


def test_a_text_goes_to_the_first_memory_that_can_or_to_the_one_named(both) -> None:
    kept = both.json("remember", "The ferry leaves at nine.")
    assert (kept["memory"], kept["isNew"], kept["warning"]) == ("memory-core", True, None)
    assert "The ferry leaves at nine." in (both.home / "workspace" / kept["path"]).read_text()
    assert both.ok("remember", "Bob is tall.", "--in", "shelf") == "✓ remembered in shelf: shelf/Bob\n"


def test_a_text_is_read_from_stdin(both) -> None:
    assert typed(both, "Zoë sails.\n", "remember", "-", "--in", "shelf").stdout == "✓ remembered in shelf: shelf/Zoë\n"
    assert both.json("search", "sails", "--in", "shelf")["results"][0]["snippet"] == "Zoë sails."


@pytest.mark.parametrize("text", ["", "  \n"])
def test_nothing_is_not_remembered(both, text: str) -> None:
    for done in (both("remember", text), typed(both, text, "remember", "-")):
        assert (done.returncode, done.stdout) == (2, "")
        assert "there is nothing to remember" in done.stderr


def test_what_is_no_text_is_refused_in_one_sentence(both) -> None:
    done = subprocess.run(
        [*both.argv, "remember", "-"], env=both.env, input=b"\xff\xfe\x00", capture_output=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == b"Error: stdin is not text in UTF-8; nothing was remembered\n"
    done = subprocess.run([*both.argv, "remember", b"half \xff"], env=both.env, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, b"Error: the text is not valid UTF-8; nothing was remembered\n")


def test_a_memory_that_cannot_remember_says_so(both) -> None:
    both.add_plugin("ill", ILL)
    both.ok("config", "set", "plugins.slots.memory", '["ill", "shelf"]')
    assert both.json("remember", "Bob is tall.")["memory"] == "shelf"
    done = both("remember", "Bob is tall.", "--in", "ill")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ill cannot remember")


def test_what_is_stored_is_reported_although_plugins_cannot_be_told(both) -> None:
    tool = """
    from memslot import Tool, hookimpl

    @hookimpl
    def register_tools(ctx):
        return [Tool("look", "Look.", {}, lambda args: "")]
    """
    for each in ("one", "two"):
        both.add_plugin(each, tool, kind="tool", provides={"tools": ["look"]})
    done = both("remember", "Bob is tall.", "--in", "shelf")
    assert (done.returncode, done.stdout) == (0, "✓ remembered in shelf: shelf/Bob\n")
    assert 'one and two both register the tool "look"' in done.stderr


# forget


def test_forgetting_by_path_shows_what_and_asks(both) -> None:
    done = typed(both, "n\n", "forget", "shelf/Ada")
    assert done.stdout == "shelf  shelf/Ada\nAda drinks green tea.\n"
    assert "Forget 1 item?" in done.stderr
    assert "Nothing was forgotten." in done.stderr
    assert both.json("search", "tea", "--in", "shelf")["results"]
    assert "✓ forgot 1 item" in typed(both, "y\n", "forget", "shelf/Ada").stdout
    assert not both.json("search", "tea", "--in", "shelf")["results"]


def test_nobody_who_answers_keeps_everything(both) -> None:
    done = both("forget", "shelf/Ada")
    assert done.returncode == 1
    assert "Aborted" in done.stderr
    assert both.json("search", "tea", "--in", "shelf")["results"]


def test_a_query_forgets_only_what_the_person_picks(both) -> None:
    both.ok("remember", "Bob drinks black tea.", "--in", "shelf")
    both.ok("remember", "Cleo drinks no tea.", "--in", "shelf")
    done = typed(both, "9\n1, 3\n", "forget", "tea")
    numbers = {line[5:].strip(): line[:2].strip() for line in done.stdout.splitlines() if "shelf/" in line}
    assert sorted(numbers.values()) == ["1", "2", "3"]
    assert "name numbers from 1 to 3" in done.stderr
    assert "✓ forgot 2 items" in done.stdout
    assert len(both.json("search", "tea", "--in", "shelf")["results"]) == 1


def test_a_query_is_never_enough_for_yes(both) -> None:
    for query in ("tea", "something else entirely"):
        done = both("forget", query, "--yes")
        assert (done.returncode, done.stdout) == (1, "")
        assert "Ada drinks green tea." in both.ok("search", "tea", "--in", "shelf")
    assert "--yes needs the path of each item; found: shelf/Ada" in both("forget", "tea", "--yes").stderr


def test_several_paths_are_forgotten_together_or_not_at_all(both) -> None:
    both.ok("remember", "Bob drinks black tea.", "--in", "shelf")
    done = both("forget", "shelf/Ada", "shelf/Nobody", "--yes")
    assert done.returncode == 1
    assert 'nothing has the path "shelf/Nobody"; nothing was forgotten' in done.stderr
    told = both.json("forget", "shelf/Ada", "shelf/Bob", "--yes")
    assert [each["text"] for each in told["forgotten"]] == ["Ada drinks green tea.", "Bob drinks black tea."]
    assert told["candidates"] == []
    assert not both.json("search", "tea", "--in", "shelf")["results"]


def test_json_alone_only_shows_what_would_be_forgotten(both) -> None:
    for target in ("tea", "shelf/Ada"):
        told = both.json("forget", target)
        item = {"memory": "shelf", "path": "shelf/Ada", "text": "Ada drinks green tea."}
        assert told == {"forgotten": [], "candidates": [item]}


def test_a_path_that_two_memories_have_needs_to_be_told_apart(both) -> None:
    both.add_plugin("rack", SHELF)
    both.ok("config", "set", "plugins.slots.memory", '["shelf", "rack"]')
    both.ok("remember", "Ada drinks green tea.", "--in", "rack")
    done = both("forget", "shelf/Ada", "--yes")
    assert done.returncode == 1
    assert '"shelf/Ada" is in shelf, rack; say which with --in' in done.stderr
    both.ok("forget", "shelf/Ada", "--yes", "--in", "rack")
    assert [each["memory"] for each in both.json("search", "tea")["results"]] == ["shelf"]


def test_what_cannot_be_forgotten_by_command_is_pointed_at(both) -> None:
    both.add_plugin("wall", WALL)
    both.ok("config", "set", "plugins.slots.memory", '["wall", "shelf"]')
    both.ok("remember", "The harbour opens on Tuesday.", "--in", "shelf")
    done = typed(both, "1\n", "forget", "when the harbour opens")
    assert "wall cannot forget by command, and has this in wall/1; delete it there" in done.stderr
    done = both("forget", "harbour", "--in", "wall")
    assert done.returncode == 1
    assert "wall cannot forget by command" in done.stderr


@pytest.fixture
def notes(both) -> Any:
    """A note with a list and a paragraph, in the index."""
    note = both.home / "workspace" / "MEMORY.md"
    note.write_text(
        "# People\n\n- Ada drinks green tea.\n- Bob is\n  allergic to nuts.\n\nThe harbour opens on Monday.\n"
    )
    assert both.json("search", "nuts", "--in", "memory-core")["results"]
    return both


def test_of_a_note_only_the_chosen_lines_are_forgotten(notes) -> None:
    done = typed(notes, "1\n", "forget", "who is allergic to nuts?", "--in", "memory-core")
    assert done.stdout.startswith(" 1  memory-core  MEMORY.md#L4-L5\n    Bob is allergic to nuts.\n")
    assert "✓ forgot 1 item" in done.stdout
    note = notes.home / "workspace" / "MEMORY.md"
    assert note.read_text() == "# People\n\n- Ada drinks green tea.\n\nThe harbour opens on Monday.\n"
    found = notes.json("search", "nuts", "--in", "memory-core")["results"]
    assert not any("nuts" in each["snippet"] for each in found)


def test_several_lines_of_a_note_are_forgotten_by_their_addresses(notes) -> None:
    told = notes.json("forget", "MEMORY.md#L3", "MEMORY.md#L7", "--yes")
    assert [each["path"] for each in told["forgotten"]] == ["MEMORY.md#L3", "MEMORY.md#L7"]
    note = notes.home / "workspace" / "MEMORY.md"
    assert note.read_text() == "# People\n\n- Bob is\n  allergic to nuts.\n"


@pytest.mark.parametrize("path", ["MEMORY.md", "MEMORY.md#L2", "MEMORY.md#L7-L9", "MEMORY.md#L9", "../outside.md#L1"])
def test_what_names_no_lines_of_a_note_forgets_nothing(notes, path: str) -> None:
    note = notes.home / "workspace" / "MEMORY.md"
    before = note.read_bytes()
    assert notes("forget", path, "--yes").returncode == 1
    assert note.read_bytes() == before


def test_what_two_memories_hold_is_forgotten_in_both(both) -> None:
    both.add_plugin("rack", SHELF)
    both.ok("config", "set", "plugins.slots.memory", '["shelf", "rack"]')
    both.ok("remember", "Ada drinks green tea.", "--in", "rack")
    assert len(both.json("search", "green tea")["results"]) == 1
    assert {each["memory"] for each in both.json("forget", "green tea")["candidates"]} == {"shelf", "rack"}
    assert "✓ forgot 2 items" in typed(both, "1,2\n", "forget", "green tea").stdout
    assert both.json("search", "green tea")["results"] == []


def test_a_memory_that_does_not_run_is_said_to_keep_what_it_has(both) -> None:
    both.ok("config", "set", "plugins.deny", '["memory-core"]')
    done = typed(both, "\n", "forget", "tea")
    assert "Warning: memory-core does not run, and keeps what it has: plugins.deny names it" in done.stderr


def test_what_only_comes_nearest_to_a_query_is_not_offered(both) -> None:
    weak = """
def search(self, query, *, max_results=None):
    return MemorySearchOutcome([MemoryHit("shelf/Ada", 0.2, text) for text in self.texts()], mode="words")

Shelf.search = search
"""
    both.add_plugin("weak", SHELF + weak)
    both.ok("config", "set", "plugins.slots.memory", '["weak"]')
    both.ok("remember", "Ada drinks black tea.")
    assert both.json("search", "zebra")["results"]
    assert both.json("forget", "zebra")["candidates"] == []
    assert 'nothing that can be forgotten was found for "zebra"' in both("forget", "zebra").stderr
    assert [each["path"] for each in both.json("forget", "which tea?")["candidates"]] == ["shelf/Ada"]


def test_a_memory_that_exits_or_fails_when_it_is_read_forgets_nothing_and_harms_nobody(both) -> None:
    both.add_plugin(
        "exits", f"{SHELF}\nimport sys\nShelf.read = Shelf.refresh = lambda *given, **options: sys.exit(3)\n"
    )
    both.ok("config", "set", "plugins.slots.memory", '["exits", "shelf"]')
    both.ok("remember", "Ada drinks black tea.", "--in", "exits")
    for target in ("drinks green tea", "shelf/Ada"):
        done = both("forget", target, "--json")
        assert done.returncode == 0
        assert "shelf" in {each["memory"] for each in json.loads(done.stdout)["candidates"]}
        assert "called sys.exit(3)" in done.stderr
        assert "still being indexed" not in done.stderr


READABLE = (
    SHELF
    + """
from memslot import MemoryText

def read(self, path, *, start_line=1, max_lines=200, session=None):
    texts = [text for text in self.texts() if "shelf/" + text.split()[0] == path]
    page = self.file.parent / "pages.txt"
    return MemoryText(path, "\\n".join(texts + (page.read_text().splitlines() if texts and page.exists() else [])))

Shelf.read = read
"""
)


@pytest.fixture
def readable(memslot: Any) -> Any:
    """A memory whose items are longer than what a search shows of them."""
    memslot.add_plugin("shelf", READABLE)
    memslot.write_config({"plugins": {"load": memslot.load, "slots": {"memory": "shelf"}}})
    memslot.ok("remember", "Ada drinks green tea.")
    (page,) = [path.parent / "pages.txt" for path in memslot.home.rglob("shelf.txt")]
    page.write_text("Her sister lives in Graz.")
    return memslot


def test_all_that_would_go_is_shown_not_only_what_was_found(readable) -> None:
    assert "Graz" not in readable.ok("search", "green tea")
    assert "Ada drinks green tea. Her sister lives in Graz." in typed(readable, "\n", "forget", "green tea").stdout


@pytest.mark.parametrize(("target", "answers"), [("green tea", "1\n"), ("shelf/Ada", "y\n")])
def test_what_changed_while_the_person_thought_is_kept(readable, target: str, answers: str) -> None:
    (page,) = readable.home.rglob("pages.txt")
    asking = subprocess.Popen(
        [*readable.argv, "forget", target],
        env=readable.env,
        cwd=readable.project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert asking.stderr is not None
    while not asking.stderr.read(1).endswith(("?", ")")):  # the question is there
        assert asking.poll() is None
    page.write_text("Her sister lives in Linz.")
    _, said = asking.communicate(answers, timeout=60)
    assert asking.returncode == 1
    assert "Error: shelf: shelf/Ada was not forgotten: it has changed since it was shown" in said
    assert readable.json("search", "tea")["results"]


# status


def test_status_tells_of_every_memory(both) -> None:
    told = both.json("status")
    assert told["healthy"] is True
    assert [each["id"] for each in told["memories"]] == ["memory-core", "shelf"]
    shelf = told["memories"][1]
    assert (shelf["backend"], shelf["counts"]) == ("shelf", {"booksRead": 1})
    assert shelf["can"] == ["search", "list", "remember", "forget"]
    shown = both.ok("status")
    assert "shelf (shelf)\n  state  ok\n  holds  1 books read\n  can    search, list, remember, forget\n" in shown


def test_an_unhealthy_memory_fails_the_status_and_is_named(both) -> None:
    both.add_plugin("ill", ILL)
    both.ok("config", "set", "plugins.slots.memory", '["shelf", "ill"]')
    done = both("status", "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert [(each["id"], each["healthy"]) for each in told["memories"]] == [("shelf", True), ("ill", False)]
    assert "Problem: ill: the disk is on fire" in both("status").stderr


@pytest.mark.parametrize("slot", ['["shelf", "ill"]', "ill"])
def test_a_run_says_once_that_a_memory_does_not_report_its_status(both, slot: str) -> None:
    status = 'return MemoryStatus("ill", problems=["the disk is on fire"])'
    both.add_plugin("ill", ILL.replace(status, "raise OSError('the disk is on fire')"))
    both.ok("config", "set", "plugins.slots.memory", slot)
    assert both("run", "hello").stderr.count("the disk is on fire") == 1


def test_a_memory_that_does_not_start_is_told_in_the_status(both) -> None:
    both.add_plugin("broken", "raise RuntimeError('no disk')")
    both.ok("config", "set", "plugins.slots.memory", '["shelf", "broken"]')
    done = both("status", "--json")
    assert done.returncode == 1
    assert "no disk" in str(json.loads(done.stdout)["memories"][1]["problems"])
    done = both("search", "tea", "--in", "broken")
    assert done.returncode == 1
    assert "broken does not run" in done.stderr


# All of them


@pytest.mark.parametrize("command", [("search", "x"), ("remember", "x"), ("forget", "x"), ("status",)])
def test_without_a_memory_each_says_why(memslot, command: tuple[str, ...]) -> None:
    memslot.write_config({"plugins": {"slots": {"memory": "none"}}})
    done = memslot(*command)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == 'Error: there is no memory: plugins.slots.memory is "none"\n'


@pytest.mark.parametrize("command", ["search", "remember", "forget"])
def test_a_memory_that_is_not_in_the_slot_is_wrong_usage(both, command: str) -> None:
    done = both(command, "x", "--in", "memory-lancedb")
    assert done.returncode == 2
    assert '"memory-lancedb" is not in the memory slot; --in takes one of: memory-core, shelf' in done.stderr


def test_each_agent_has_its_own_memory(memslot) -> None:
    agents = [{"id": each, "workspace": str(memslot.folder / each)} for each in ("one", "two")]
    memslot.write_config({"agents": {"list": agents}})
    memslot.ok("remember", "The harbour opens on Monday.", "--agent", "two")
    assert not memslot.json("search", "harbour")["results"]
    for arguments in (("search", "harbour", "--agent", "two"), ("--agent", "two", "search", "harbour")):
        assert memslot.json(*arguments)["results"][0]["snippet"] == "The harbour opens on Monday."
    assert memslot.json("status", "--agent", "two")["agent"] == "two"


def test_no_plugin_can_take_a_command_of_memslots_own(memslot) -> None:
    assert frozenset(BUILT_IN) == RESERVED_COMMANDS
    memslot.add_plugin("thief", SHELF, kind="app", provides={"commands": ["search"]})
    memslot.write_config({"plugins": {"load": memslot.load}})
    reasons = {each["id"]: each["reason"] for each in memslot.json("plugins", "list")["plugins"]}
    assert 'holds "search", which is a command of memslot itself' in reasons["thief"]
    assert memslot("search", "anything").returncode == 0


def test_a_search_by_keywords_loads_nothing_heavy(memslot) -> None:
    memslot.write_config({"agents": {"defaults": {"memorySearch": {"provider": "none"}}}})
    memslot.ok("remember", "The harbour opens on Monday.")
    memslot.argv[1:1] = ["-X", "importtime"]
    done = memslot("search", "harbour")
    assert "The harbour opens on Monday." in done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "memslot_memory_core.manager" in loaded
    assert not loaded & {"numpy", "pydantic", "httpx2", "lancedb", "mcp", "memslot_chat", "memslot_mcp_server"}
