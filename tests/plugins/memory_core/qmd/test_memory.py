"""QMD's memory: what it is asked, what comes back, and when it is brought up to date."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from memslot import Session
from memslot_memory_core.qmd.errors import QmdError, QmdPathError, QmdTimeoutError
from memslot_memory_core.qmd.home import QmdHome
from memslot_memory_core.qmd.memory import QmdMemory, plain_query
from memslot_memory_core.qmd.settings import ExtraPath, Scope, ScopeRule

from .conftest import Fake, MakeMemory

GROUP = Session(agent_id="main", chat_type="group")
EVERYBODY = Scope("allow", ())


def row(path: str = "memory-dir/2026-01-02.md", text: str = "Delft", **more: Any) -> dict[str, Any]:
    return {
        "file": f"qmd://{path}",
        "score": 0.5,
        "line": 3,
        "snippet": f"@@ -3,1 @@ (2 before, 0 after)\n{text}",
        **more,
    }


@pytest.fixture
def memory(fake: Fake, make_memory: MakeMemory) -> QmdMemory:
    made = make_memory(fake.program)
    made.update()
    return made


def asked(fake: Fake) -> list[str]:
    return next(command for command in reversed(fake.commands()) if command[0] in ("search", "vsearch", "query"))


# Asking


def test_query_comes_after_all_options(fake: Fake, memory: QmdMemory) -> None:
    memory.search("--help me -n now", max_results=3)

    assert asked(fake) == [
        "search",
        "--json",
        "-n",
        "13",
        "-c",
        "memory-root",
        "-c",
        "memory-dir",
        "--",
        "help me n now",
    ]


@pytest.mark.parametrize(
    ("query", "mode", "plain"),
    [
        ("line\none\r\ntwo\u2028three", "query", "line one two three"),
        ("nul\0 and \x1b[31m", "search", "nul and [31m"),
        ("\ud800x", "search", "x"),
        ("LEX: words", "query", "LEX words"),
        ("lex: words", "search", "lex: words"),
        ("intent: why", "query", "intent why"),
        ("real-time -- a --b", "search", "real-time a b"),
        ('"a phrase"', "search", '"a phrase"'),
        ("---", "search", ""),
        ("w" * 1_000_000, "search", "w" * 2000),
    ],
)
def test_query_is_words_only(query: str, mode: Any, plain: str) -> None:
    assert plain_query(query, mode) == plain


def test_query_without_words_is_not_asked(fake: Fake, memory: QmdMemory) -> None:
    before = len(fake.calls)

    assert memory.search("---").warning == "the query has no words"
    assert len(fake.calls) == before


# Answering


def test_hit_has_path_lines_score_and_text(fake: Fake, memory: QmdMemory) -> None:
    fake.finds(row("memory-dir/trips/Köln & co #1.md", "\nDelft by train\n\n", score=1.3))

    [hit] = memory.search("delft").hits

    assert (hit.path, hit.start_line, hit.end_line) == ("qmd/memory-dir/trips/Köln & co #1.md", 4, 4)
    assert (hit.snippet, hit.score, hit.source) == ("Delft by train", 1.0, "memory")
    assert hit.citation == "qmd/memory-dir/trips/Köln & co #1.md#L4-L4"


def test_results_outside_the_collections_are_left_out_and_counted(fake: Fake, memory: QmdMemory) -> None:
    fake.finds(
        row("memory-dir/../../../etc/passwd"),
        row("memory-dir//etc/passwd.md"),
        row("elsewhere/a.md"),
        row("memory-root/notes.txt"),
        row(),
    )

    outcome = memory.search("delft")

    assert [hit.path for hit in outcome.hits] == ["qmd/memory-dir/2026-01-02.md"]
    assert outcome.warning is not None
    assert outcome.warning.startswith("4 of QMD's results were dropped")


def test_secrets_are_redacted_before_the_text_is_cut(fake: Fake, make_memory: MakeMemory) -> None:
    memory = make_memory(fake.program, max_snippet_chars=30)
    memory.update()
    fake.finds(row(text="key: sk-abcdefghij0123456789xyz and more text than fits"))

    [hit] = memory.search("key").hits

    assert hit.snippet == "key: [redacted] and more text"
    assert len(hit.snippet) <= 30


def test_snippets_together_are_no_longer_than_allowed(fake: Fake, make_memory: MakeMemory) -> None:
    memory = make_memory(fake.program, max_snippet_chars=100, max_injected_chars=250, max_results=10)
    memory.update()
    fake.finds(*[row(text="x" * 500)] * 8)

    lengths = [len(hit.snippet) for hit in memory.search("x").hits]

    assert lengths == [100, 100, 50]


def test_no_more_results_than_asked_for_or_allowed(fake: Fake, memory: QmdMemory) -> None:
    fake.finds(*[row()] * 20)

    assert len(memory.search("delft").hits) == 6
    assert len(memory.search("delft", max_results=2).hits) == 2
    assert len(memory.search("delft", max_results=50).hits) == 6


def test_text_that_qmd_cut_is_completed_from_the_file(fake: Fake, memory: QmdMemory, workspace: Path) -> None:
    long = "The office in Delft, " + "very " * 80 + "near the station."
    (workspace / "memory" / "long.md").write_text(f"# Long\n\n{long}\nnext\n", encoding="utf-8")
    cut = f"@@ -3,2 @@ (2 before, 1 after)\n{long[:297]}..."
    fake.finds(row("memory-dir/long.md", snippet=cut), row("memory-dir/2026-01-02.md", snippet=cut))

    first, second = memory.search("delft").hits

    assert first.snippet == f"{long}\nnext"
    assert (first.start_line, first.end_line) == (3, 4)
    assert second.snippet == f"{long[:297]}...", "a file that has changed since says something else"


def test_least_score_is_kept(fake: Fake, memory: QmdMemory) -> None:
    fake.finds(row(score=0.9), row(score=0.2))

    assert [hit.score for hit in memory.search("delft", min_score=0.5).hits] == [0.9]


def test_non_utf8_output_is_still_an_answer(fake: Fake, memory: QmdMemory) -> None:
    output = b'[{"file": "qmd://memory-dir/2026-01-02.md", "score": 1, "line": 1, "snippet": "caf\xe9"}]'
    fake.will(search={"hex": output.hex()})

    [hit] = memory.search("cafe").hits

    assert hit.snippet == "caf\N{REPLACEMENT CHARACTER}"


def test_empty_answer_to_many_words_says_why(memory: QmdMemory) -> None:
    outcome = memory.search("where is the office")

    assert outcome.hits == []
    assert "every word" in str(outcome.warning)
    assert "searchMode" in str(outcome.action)


def test_empty_answer_says_what_was_searched_how_fresh_that_is_and_what_to_try(memory: QmdMemory) -> None:
    outcome = memory.search("office")

    assert outcome.warning == "no match in memory-root, memory-dir, last indexed by QMD just now"
    assert "memslot memory index" in str(outcome.action)


def test_a_change_right_after_an_update_is_taken_up_once_the_pause_is_over(fake: Fake, make_memory: MakeMemory) -> None:
    memory = make_memory(fake.program, debounce=0.5, interval=0.0, on_boot=False)
    memory.update()
    before = fake.commands().count(["update"])

    memory.request_update()

    deadline = time.monotonic() + 30
    while fake.commands().count(["update"]) == before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert fake.commands().count(["update"]) == before + 1


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ({"code": 1, "stderr": "boom\n"}, "ended with code 1: boom"),
        ({"code": 1, "stderr": "SqliteError: database is locked\n"}, "database is locked"),
        ({"stdout": "not json"}, "did not print a JSON list"),
        ({"stdout": ""}, "printed no results"),
        ({"stdout": '{"results": []}'}, "did not print a JSON list"),
        ({"stdout": '[{"score": 1}]'}, "without a file"),
        ({"megabytes": 17}, "more than 16 MB"),
    ],
)
def test_no_answer_is_a_qmd_error(fake: Fake, memory: QmdMemory, step: dict[str, Any], reason: str) -> None:
    fake.will(search=step)

    with pytest.raises(QmdError, match=reason):
        memory.search("delft")


def test_time_out_says_which_setting_to_raise(fake: Fake, make_memory: MakeMemory) -> None:
    memory = make_memory(fake.program, timeout=0.4)
    memory.update()
    fake.will(search={"sleep": 60})

    with pytest.raises(QmdTimeoutError) as caught:
        memory.search("delft")
    assert "timeoutMs" in str(caught.value.action)


# Who may ask


def test_scope_refuses_before_anything_is_asked(fake: Fake, memory: QmdMemory) -> None:
    before = len(fake.calls)

    outcome = memory.search("delft", session=GROUP)

    assert (outcome.hits, outcome.mode) == ([], "unavailable")
    assert "scope" in str(outcome.warning)
    assert len(fake.calls) == before
    with pytest.raises(QmdPathError):
        memory.read_file("qmd/memory-dir/2026-01-02.md", session=GROUP)


def test_what_is_about_the_person_stays_out_of_groups(fake: Fake, make_memory: MakeMemory, workspace: Path) -> None:
    paths = (ExtraPath(str(workspace), name="all"),)
    memory = make_memory(fake.program, scope=EVERYBODY, paths=paths)
    memory.update()
    fake.finds(row("memory-root/MEMORY.md"), row("all/MEMORY.md"), row("all/memory/2026-01-02.md"), row())

    shown = [hit.path for hit in memory.search("delft", session=GROUP).hits]

    assert "memory-root" not in asked(fake)
    assert shown == ["qmd/all/memory/2026-01-02.md", "qmd/memory-dir/2026-01-02.md"]
    assert len(memory.search("delft").hits) == 4


def test_rule_can_open_a_channel(fake: Fake, make_memory: MakeMemory) -> None:
    memory = make_memory(fake.program, scope=Scope("deny", (ScopeRule("allow", channel="slack"),)))
    memory.update()

    assert memory.search("delft", session=Session("main", "slack:1", "group")).mode == "keywords"
    assert memory.search("delft", session=GROUP).mode == "unavailable"


# Updating


def test_update_tells_of_collections_and_looks_for_changes(fake: Fake, memory: QmdMemory, tmp_path: Path) -> None:
    assert [command[:2] for command in fake.commands()] == [
        ["collection", "list"],
        ["collection", "add"],
        ["collection", "add"],
        ["update"],
    ]
    assert (tmp_path / "qmd").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "qmd" / "state.json").stat().st_mode & 0o777 == 0o600


def test_update_that_is_not_forced_keeps_the_debounce_time(fake: Fake, make_memory: MakeMemory) -> None:
    now = [1000.0]
    memory = make_memory(fake.program, debounce=15, more={"clock": lambda: now[0]})
    assert memory.update(force=False) is not None
    now[0] += 14
    assert memory.update(force=False) is None
    assert memory.update(force=True) is not None
    now[0] += 15
    assert memory.update(force=False) is not None
    now[0] -= 5000  # the clock was set back
    assert memory.update(force=False) is not None


def test_only_one_process_updates(memory: QmdMemory, tmp_path: Path) -> None:
    with QmdHome(tmp_path / "qmd").update_lock() as is_ours:
        assert is_ours
        assert memory.update() is None


def test_vectors_are_made_where_the_mode_needs_them(fake: Fake, make_memory: MakeMemory) -> None:
    now = [1000.0]
    memory = make_memory(fake.program, mode="vsearch", embed_interval=60, more={"clock": lambda: now[0]})

    for _ in range(3):
        memory.update()
        now[0] += 40

    commands = [command[0] for command in fake.commands()]
    assert commands.count("update") == 3
    assert commands.count("embed") == 2


def test_vectors_that_cannot_be_made_are_a_problem_but_words_are_found(fake: Fake, make_memory: MakeMemory) -> None:
    fake.will(embed={"code": 1, "stderr": "Error: no model"}, query={"stdout": "[]"})
    memory = make_memory(fake.program, mode="query")

    report = memory.update()

    assert report is not None
    assert "no model" in report.problems[0]
    assert any("no model" in problem for problem in memory.status().problems)
    assert memory.search("delft").mode == "hybrid"


@pytest.mark.parametrize(("mode", "fails"), [("vsearch", True), ("query", False)])
def test_search_by_meaning_without_vectors_is_no_answer(
    fake: Fake, make_memory: MakeMemory, mode: Any, fails: bool
) -> None:
    warning = "Warning: 3 documents (100%) need embeddings. Run 'qmd embed' for better results.\n"
    fake.will(**{mode: {"stdout": "[]", "stderr": warning}})
    memory = make_memory(fake.program, mode=mode)
    memory.update()

    if fails:
        with pytest.raises(QmdError, match="no vectors for 3 documents"):
            memory.search("delft")
    else:
        assert "no vectors for 3 documents" in str(memory.search("delft").warning)


def test_failed_update_makes_the_next_answer_stale(fake: Fake, memory: QmdMemory) -> None:
    fake.will(update={"code": 1, "stderr": "disk full"})
    with pytest.raises(QmdError, match="disk full"):
        memory.update()

    outcome = memory.search("delft")

    assert "disk full" in str(outcome.stale)
    assert memory.status().problems == ["qmd update ended with code 1: disk full"]
    fake.will()
    memory.update()
    assert memory.search("delft").stale is None


def test_collection_that_is_new_is_told_as_not_yet_there(fake: Fake, make_memory: MakeMemory, tmp_path: Path) -> None:
    make_memory(fake.program).update()
    docs = tmp_path / "docs"
    docs.mkdir()

    outcome = make_memory(fake.program, paths=(ExtraPath(str(docs)),)).search("delft")

    assert outcome.stale == "QMD has not indexed docs yet"
    assert "docs" not in asked(fake)


def test_first_search_waits_for_the_first_update(
    fake: Fake, make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memslot_memory_core.qmd.memory.FIRST_UPDATE_SECONDS", 30.0)  # on a busy machine, too
    fake.finds(row())

    assert len(make_memory(fake.program, timeout=30).search("delft").hits) == 1


def test_first_search_does_not_wait_longer_than_the_limit(fake: Fake, make_memory: MakeMemory) -> None:
    fake.will(collection={"sleep": 600})
    memory = make_memory(fake.program, timeout=0.3)

    with pytest.raises(QmdError, match="not indexed anything yet"):
        memory.search("delft")


def test_index_that_was_deleted_is_made_again(fake: Fake, memory: QmdMemory, tmp_path: Path) -> None:
    (tmp_path / "qmd" / "xdg-cache" / "qmd" / "index.sqlite").unlink()
    before = len(fake.commands())

    memory.update()

    assert [command[:2] for command in fake.commands()[before:]][1:3] == [["collection", "add"]] * 2


def test_updates_go_on_in_the_background_until_it_is_closed(fake: Fake, make_memory: MakeMemory) -> None:
    memory = make_memory(fake.program, interval=0.05, debounce=0)
    memory.start()
    deadline = time.monotonic() + 20
    while [command[0] for command in fake.commands()].count("update") < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [command[0] for command in fake.commands()].count("update") >= 3

    memory.close()
    memory.close()
    count = len(fake.calls)
    time.sleep(0.3)

    assert len(fake.calls) == count


def test_missing_program_is_a_problem_in_the_status_and_does_not_end_the_updates(make_memory: MakeMemory) -> None:
    memory = make_memory("no-such-qmd", interval=0.05)
    memory.start()
    with pytest.raises(QmdError, match="no-such-qmd was not found"):
        memory.search("delft")

    problems = memory.status().problems

    assert problems[0] == "the program no-such-qmd was not found"
    assert "npm install" in problems[1]


def test_sessions_are_exported_for_private_chats(fake: Fake, make_memory: MakeMemory, tmp_path: Path) -> None:
    transcripts = tmp_path / "sessions"
    transcripts.mkdir()
    (transcripts / "s1.jsonl").write_text("hello", encoding="utf-8")
    more = {"transcripts": transcripts, "render": lambda file: file.read_text(encoding="utf-8")}
    memory = make_memory(fake.program, export_sessions=True, scope=EVERYBODY, more=more)

    memory.update()
    fake.finds(row("sessions/s1.md", "hello"))

    [hit] = memory.search("hello").hits
    assert (hit.path, hit.source) == ("qmd/sessions/s1.md", "sessions")
    assert memory.read_file("qmd/sessions/s1.md") == "# Session s1\n\nhello\n"
    assert memory.search("hello", session=GROUP).hits == []
    assert "sessions" not in asked(fake)
    with pytest.raises(QmdPathError):
        memory.read_file("qmd/sessions/s1.md", session=GROUP)
