"""What an audit finds, what it does not, and that it shows no secret and changes no file."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from memslot_memory_core.audit.findings import KINDS, Finding
from memslot_memory_core.audit.notes import hide_secrets, read_notes
from memslot_memory_core.audit.passages import passages_of
from memslot_memory_core.audit.scan import audit

TODAY = date(2026, 5, 1)
BACKUP = "The backup runs every night at 2 on the large server in the cellar, and Anna gets a mail."
KEY = "sk-proj-" + "a1b2c3d4e5f6g7h8i9j0"


def look(folder: Path, notes: Mapping[str, str], *kinds: str, stale_days: int = 180) -> list[Finding]:
    for path, text in notes.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return list(audit(folder, kinds=kinds or KINDS, stale_days=stale_days, today=TODAY).findings)


# Repetitions


def test_the_same_paragraph_in_two_notes_is_one_finding_with_both_places(tmp_path: Path) -> None:
    found = look(tmp_path, {"MEMORY.md": f"# A\n\n{BACKUP}\n", "memory/b.md": f"x\n\n{BACKUP}\n"}, "duplicate")

    assert [finding.spot.citation for finding in found] == ["MEMORY.md#L3"]
    assert [spot.citation for spot in found[0].others] == ["memory/b.md#L3"]
    assert found[0].excerpt == BACKUP


def test_a_list_item_repeats_itself_in_one_note_whatever_its_marker(tmp_path: Path) -> None:
    text = "- We release on Tuesdays, in the **morning**.\n- something else altogether here\n"
    text += "1. [x] we release on tuesdays,\n   in the morning\n"

    found = look(tmp_path, {"memory/a.md": text}, "duplicate")

    assert [(f.spot.citation, [s.citation for s in f.others]) for f in found] == [
        ("memory/a.md#L1", ["memory/a.md#L3-L4"])
    ]


@pytest.mark.parametrize(
    "text", ["- call Anna", "## Notes of the whole team for this day", "---\ntags: [a, b, c, d]\n---"]
)
def test_what_is_short_or_no_statement_may_be_repeated(tmp_path: Path, text: str) -> None:
    assert look(tmp_path, {"memory/a.md": text, "memory/b.md": text}, "duplicate") == []


def test_a_repeated_block_of_code_is_found_as_one(tmp_path: Path) -> None:
    block = "```sh\nmake all\n\nmake install\n```\n"

    found = look(tmp_path, {"memory/a.md": block, "memory/b.md": "text\n" + block}, "duplicate", "near-duplicate")

    assert [(f.kind, f.spot.citation, f.others[0].citation) for f in found] == [
        ("duplicate", "memory/a.md#L1-L5", "memory/b.md#L2-L6")
    ]


def test_nearly_the_same_words_are_found_and_numbers_tell_apart(tmp_path: Path) -> None:
    notes = {
        "memory/a.md": BACKUP,
        "memory/b.md": "- " + BACKUP.replace("every night", "each night"),
        "memory/c.md": BACKUP.replace("at 2", "at 3"),
        "memory/d.md": "The backup of the photos is done by hand, and nobody gets a mail about it at all.",
    }

    found = look(tmp_path, notes, "duplicate", "near-duplicate")

    assert [(f.kind, f.spot.path, [s.path for s in f.others]) for f in found] == [
        ("near-duplicate", "memory/a.md", ["memory/b.md"])
    ]


def test_near_duplicates_are_found_in_scripts_without_spaces(tmp_path: Path) -> None:
    notes = {
        "memory/a.md": "我们每个星期二上午发布新版本，由安娜负责检查备份。",
        "memory/b.md": "我们每个星期二上午发布新版本，由安娜负责检查备份吧。",
    }

    assert [f.kind for f in look(tmp_path, notes, "near-duplicate")] == ["near-duplicate"]


def test_ten_thousand_passages_take_seconds_however_alike_they_are(tmp_path: Path) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    (tmp_path / "memory").mkdir()
    for number in range(100):
        lines = [
            f"the daily report says that everything is fine and nobody has to do anything about "
            f"{letters[number % 26] * 3}{letters[number // 26] * 2} {letters[line % 26] * 2}{letters[line // 26] * 3}"
            for line in range(100)
        ]
        (tmp_path / "memory" / f"{number}.md").write_text("\n\n".join(lines), encoding="utf-8")

    began = time.process_time()
    report = audit(tmp_path, today=TODAY)

    assert report.passages == 10_000
    assert report.counts["near-duplicate"] >= 1
    assert time.process_time() - began < 30


# Secrets


def test_a_secret_is_found_by_its_line_and_never_shown(tmp_path: Path) -> None:
    pem = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEsecretsecret\n-----END RSA PRIVATE KEY-----"
    text = f"fine\nkey {KEY} here\npassword:\n  hunter22\n{pem}\nfine"

    report = audit(_written(tmp_path, {"memory/a.md": text, "memory/b.md": text}), today=TODAY)

    secrets = [(f.spot.path, f.spot.start_line, f.spot.end_line) for f in report.findings if f.kind == "secret"]
    assert secrets[:3] == [("memory/a.md", 2, 2), ("memory/a.md", 4, 4), ("memory/a.md", 5, 9)]
    assert report.counts["duplicate"] > 0, "passages with secrets are compared, too"
    told = str(report.to_json())
    for secret in (KEY, "hunter22", "MIIEsecretsecret"):
        assert secret not in told


def _written(folder: Path, notes: Mapping[str, str]) -> Path:
    look(folder, notes)
    return folder


@given(
    st.lists(
        st.sampled_from(
            ["", "text", "password:", "hunter2222", f"token: {KEY}", "-----BEGIN PRIVATE KEY-----", "MIIE1234",
             "-----END PRIVATE KEY-----", "a://u:secret99@h", "bearer", "abcdef1234567890"]
        ),
        max_size=12,
    )
)  # fmt: skip
@example(["-----BEGIN PRIVATE KEY-----", "text", "password:", "-----END PRIVATE KEY-----"])
def test_what_is_shown_of_lines_needs_no_more_redaction(lines: list[str]) -> None:
    from memslot import redact

    shown, spans = hide_secrets(lines)

    assert len(shown) == len(lines)
    assert redact("\n".join(shown)) == "\n".join(shown)
    assert bool(spans) == (redact("\n".join(lines)) != "\n".join(lines))
    assert all(1 <= first <= last <= len(lines) for first, last in spans)


# Stale


def test_open_tasks_of_an_old_daily_note_are_one_finding(tmp_path: Path) -> None:
    text = "- [x] done\n- [ ] renew the passport\ntext\nTODO ask Anna\n- [ ] third\n"

    found = look(
        tmp_path, {"memory/2025-01-01.md": text, "memory/2026-04-01.md": text, "memory/topic.md": text}, "stale"
    )

    assert [(f.spot.citation, len(f.others)) for f in found] == [("memory/2025-01-01.md#L2", 2)]
    assert "3 open tasks" in found[0].action
    assert len(look(tmp_path, {}, "stale", stale_days=10)) == 2


@pytest.mark.parametrize(
    "line",
    [
        "The parking permit is valid until 2024-03-01.",
        "- [ ] tax return (due: 2024/03/01)",
        "Sale ends on March 1, 2024",
        "Elternzeit bis zum 1.3.2024",
        "Deadline: **1 March 2024**",
        "2024年3月1日まで休み",
    ],
)
def test_a_term_that_has_run_out_is_stale_in_an_evergreen_note(tmp_path: Path, line: str) -> None:
    found = look(tmp_path, {"MEMORY.md": f"# A\n{line}\n", "memory/2026-04-30.md": line}, "stale")

    assert [(f.spot.citation, "ended on 2024-03-01" in f.action) for f in found] == [("MEMORY.md#L2", True)]


@pytest.mark.parametrize(
    "line",
    [
        "Anna lived in Rome until 2024-03-01.",
        "Since 2024-03-01 we release on Tuesdays.",
        "We met on 2024-03-01.",
        "Valid until 2027-03-01.",
        "First until 2024-03-01, now until 2027-01-01.",
        "- [x] due 2024-03-01",
        "~~due 2024-03-01~~",
        "until 2024-13-41",
    ],
)
def test_other_dates_are_no_news(tmp_path: Path, line: str) -> None:
    assert look(tmp_path, {"MEMORY.md": line}, "stale") == []


# Recalled text, files and links


def test_recalled_text_is_found_with_its_lines_and_a_mention_of_the_tag_is_not(tmp_path: Path) -> None:
    block = "a\n<relevant-memories>\n- x\n</relevant-memories>\nb\n"

    found = look(
        tmp_path, {"memory/a.md": block, "memory/b.md": "the tag `<relevant-memories>` is a fence"}, "recalled"
    )

    assert [f.spot.citation for f in found] == ["memory/a.md#L2-L4"]


def test_files_that_are_not_all_read_are_named(tmp_path: Path) -> None:
    _written(tmp_path, {"memory/large.md": "line\n" * 100})
    (tmp_path / "memory" / "latin.md").write_bytes(b"caf\xe9 au lait\n")

    notes, findings = read_notes(tmp_path, max_bytes=100)

    assert [(f.kind, f.spot.path) for f in findings] == [
        ("too-large", "memory/large.md"),
        ("unreadable", "memory/latin.md"),
    ]
    assert len(notes) == 2


@pytest.mark.usefixtures("modes_bind_root")
def test_a_note_without_read_permission_is_unreadable(tmp_path: Path) -> None:
    _written(tmp_path, {"memory/a.md": "x"})
    (tmp_path / "memory" / "a.md").chmod(0)

    assert [(f.kind, f.spot.path) for f in look(tmp_path, {})] == [("unreadable", "memory/a.md")]


def test_links_are_named_where_a_file_would_count(tmp_path: Path) -> None:
    _written(tmp_path, {"memory/a.md": "x", "elsewhere/b.md": "y"})
    (tmp_path / "memory" / "b.md").symlink_to(tmp_path / "elsewhere" / "b.md")
    (tmp_path / "memory" / "more").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "memory" / "picture.png").symlink_to(tmp_path / "elsewhere" / "b.md")
    (tmp_path / "USER.md").symlink_to(tmp_path / "nowhere.md")

    assert [f.spot.path for f in look(tmp_path, {}, "link")] == ["USER.md", "memory/b.md", "memory/more"]


def test_nothing_is_changed_and_a_clean_memory_has_no_findings(tmp_path: Path) -> None:
    notes = {"MEMORY.md": "# Memory\n\nWe release on Tuesdays.\n", "memory/2026-04-30.md": "- [ ] call Anna\n"}
    _written(tmp_path, notes)
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in tmp_path.rglob("*.md")}

    report = audit(tmp_path, today=TODAY)

    assert report.findings == []
    assert report.files == 2
    assert {
        path: (path.stat().st_mtime_ns, path.read_bytes()) for path in tmp_path.rglob("*") if path.is_file()
    } == before


@given(st.lists(st.sampled_from(["", "text", "- item", "  more", "# head", "```", "~~~", "---", "> quote", "1. x"])))
def test_passages_are_in_order_do_not_overlap_and_leave_no_text_out(lines: list[str]) -> None:
    at = 0
    inside: set[int] = set()
    for passage in passages_of(lines):
        assert at < passage.start_line <= passage.end_line <= len(lines)
        at = passage.end_line
        inside.update(range(passage.start_line, passage.end_line + 1))
    if not lines or lines[0] != "---":
        assert {number for number, line in enumerate(lines, 1) if line in ("text", "- item", "1. x")} <= inside
