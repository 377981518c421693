"""Notes go out and come in again unchanged, and nothing that is here is lost on the way."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import textwrap
import time
import unicodedata
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from memslot import MemslotError
from memslot_memory_core.sources.files import SKIPPED_FOLDERS
from memslot_memory_core.transfer import zip_files
from memslot_memory_core.transfer.archive_export import export, new_file
from memslot_memory_core.transfer.archive_import import ImportReport, Target, ignores_case, import_items
from memslot_memory_core.transfer.destinations import Destination, destination_of
from memslot_memory_core.transfer.folders import read_folder
from memslot_memory_core.transfer.item import Item, UnusableItem
from memslot_memory_core.transfer.json_lines import read_json_lines
from memslot_memory_core.transfer.zip_files import read_zip, write_zip


def fill(folder: Path, files: Mapping[str, bytes]) -> Path:
    for path, data in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def target(folder: Path, **options: object) -> Target:
    return Target(folder / "workspace", folder / "sessions", **options)  # type: ignore[arg-type]


def take_in(folder: Path, items: Iterable[Item | UnusableItem], **options: bool) -> ImportReport:
    return import_items(items, target(folder), **options)


def states(report: ImportReport) -> dict[str, str]:
    return {outcome.path: outcome.state for outcome in report.outcomes}


def archived(folder: Path, layout: str, file: Path) -> Path:
    with new_file(file, overwrite=False) as out:
        export(out, layout, folder / "workspace", sessions_dir=folder / "sessions")  # type: ignore[arg-type]
    return file


def unpacked(file: Path) -> list[Item | UnusableItem]:
    if file.suffix == ".zip":
        return list(read_zip(file))
    with file.open("rb") as stream:
        return list(read_json_lines(stream, str(file)))


# Round trips

_names = st.text(
    st.characters(codec="utf-8", exclude_characters="/\\\0", exclude_categories=("Cc", "Cs", "Zl", "Zp")),
    min_size=1,
    max_size=12,
).filter(lambda name: not name.startswith(".") and name not in SKIPPED_FOLDERS and len(name.encode()) < 60)
_paths = st.lists(_names, min_size=1, max_size=3).map(lambda parts: "memory/" + "/".join(parts) + ".md")


def _fits_together(files: Mapping[str, bytes]) -> bool:
    """No file is another one's folder, and no two names are one on a disk that normalises them."""
    plain = {unicodedata.normalize("NFC", path) for path in files}
    return len(plain) == len(files) and not any(path.startswith(f"{other}/") for path in files for other in files)


@settings(max_examples=60, deadline=None)
@given(
    notes=st.dictionaries(
        _paths | st.sampled_from(["MEMORY.md", "USER.md"]), st.binary(max_size=300), max_size=5
    ).filter(_fits_together),
    transcripts=st.dictionaries(st.sampled_from(["a.jsonl", "b c.jsonl"]), st.binary(max_size=100), max_size=2),
    layout=st.sampled_from(["zip", "jsonl"]),
)
@example(
    notes={"memory/a.md": b"\xff\xfe\0", "memory/A.md": b"caf\xc3\xa9\r\n\xe2\x80\xa8"}, transcripts={}, layout="jsonl"
)
@example(notes={"memory/nul.md": b"nothing", "memory/aux/con.md": b"French"}, transcripts={}, layout="zip")
def test_a_round_trip_loses_nothing(notes: dict[str, bytes], transcripts: dict[str, bytes], layout: str) -> None:
    with TemporaryDirectory() as name:
        here, there = Path(name, "here"), Path(name, "there")
        fill(here / "workspace", notes)
        fill(here / "sessions", transcripts)
        (here / "workspace").mkdir(parents=True, exist_ok=True)

        items = unpacked(archived(here, layout, Path(name, f"x.{layout}")))
        report = take_in(there, items)

        usable = set(notes)
        if os.name == "nt":
            usable = {path for path in notes if isinstance(destination_of(path, there), Destination)}
        assert content(there / "workspace") == {path: notes[path] for path in usable}
        assert content(there / "sessions") == transcripts
        assert {outcome.state for outcome in report.outcomes if outcome.path not in notes.keys() - usable} <= {"new"}
        assert {outcome.state for outcome in take_in(there, items).outcomes} <= {"same", "refused"}


@pytest.mark.parametrize("layout", ["zip", "jsonl"])
def test_times_come_back_and_files_are_for_the_owner_only(tmp_path: Path, layout: str) -> None:
    note = fill(tmp_path / "workspace", {"memory/a.md": b"x"}) / "memory" / "a.md"
    os.utime(note, (1_700_000_000.5, 1_700_000_000.5))
    file = archived(tmp_path, layout, tmp_path / f"x.{layout}")

    take_in(tmp_path / "there", unpacked(file))

    copy = tmp_path / "there" / "workspace" / "memory" / "a.md"
    assert copy.stat().st_mtime == 1_700_000_000.5
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, copy, copy.parent)] == [0o600, 0o600, 0o700]


def test_an_unpacked_archive_and_any_folder_of_markdown_can_be_taken_in(tmp_path: Path) -> None:
    vault = fill(
        tmp_path / "vault",
        {"MEMORY.md": b"m", "Ideas/a.md": b"a", "memory/b.md": b"b", "sessions/s.jsonl": b"{}", "p.png": b"p",
         ".git/c.md": b"c", "manifest.json": b"{}"},
    )  # fmt: skip
    (vault / "link.md").symlink_to(vault / "MEMORY.md")

    report = take_in(tmp_path, read_folder(vault))

    assert content(tmp_path / "workspace") == {"MEMORY.md": b"m", "memory/Ideas/a.md": b"a", "memory/b.md": b"b"}
    assert content(tmp_path / "sessions") == {"s.jsonl": b"{}"}
    assert report.is_whole
    assert states(report)["link.md"] == "ignored"


def test_json_lines_tell_text_and_what_is_no_text(tmp_path: Path) -> None:
    fill(tmp_path / "workspace", {"MEMORY.md": "Größe\n".encode(), "memory/b.md": b"\xff"})

    lines = [json.loads(line) for line in archived(tmp_path, "jsonl", tmp_path / "x.jsonl").open(encoding="utf-8")]

    assert [(line["path"], line["source"], line.get("text"), line.get("base64")) for line in lines] == [
        ("MEMORY.md", "memory", "Größe\n", None),
        ("memory/b.md", "memory", None, "/w=="),
    ]
    assert all(len(line["sha256"]) == 64 and line["mtime"] > 0 for line in lines)


def test_notes_outside_the_workspace_are_named_and_stay(tmp_path: Path) -> None:
    fill(tmp_path, {"workspace/docs/a.md": b"a", "outside/b.md": b"b"})
    out = io.BytesIO()

    report = export(out, "jsonl", tmp_path / "workspace", extra_paths=["docs", str(tmp_path / "outside")])

    assert report.outside == [(tmp_path / "outside" / "b.md").as_posix()]
    assert [json.loads(line)["path"] for line in out.getvalue().splitlines()] == ["docs/a.md"]


def test_an_export_never_replaces_a_file_unasked_and_leaves_none_when_it_fails(tmp_path: Path) -> None:
    file = tmp_path / "x.zip"
    file.write_bytes(b"old")

    with pytest.raises(MemslotError, match="--overwrite"), new_file(file, overwrite=False):
        pass
    with pytest.raises(TypeError), new_file(file, overwrite=True) as out:
        out.writelines([b"half", None])  # type: ignore[list-item]

    assert content(tmp_path) == {"x.zip": b"old"}


# What is here stays


def test_another_text_of_the_same_name_is_a_conflict_and_stays(tmp_path: Path) -> None:
    fill(tmp_path / "workspace", {"MEMORY.md": b"mine", "memory/a.md": b"same"})
    items = [Item("MEMORY.md", b"theirs"), Item("memory/a.md", b"same"), Item("memory/b.md", b"new")]

    assert states(take_in(tmp_path, items)) == {"MEMORY.md": "conflict", "memory/a.md": "same", "memory/b.md": "new"}
    assert content(tmp_path / "workspace")["MEMORY.md"] == b"mine"


def test_overwriting_keeps_every_old_text_under_a_number(tmp_path: Path) -> None:
    fill(tmp_path / "workspace", {"memory/a.md": b"one"})

    first = take_in(tmp_path, [Item("memory/a.md", b"two")], overwrite=True)
    take_in(tmp_path, [Item("memory/a.md", b"three")], overwrite=True)

    assert first.outcomes[0].backup == "memory/a.md.bak-1"
    assert content(tmp_path / "workspace") == {
        "memory/a.md": b"three",
        "memory/a.md.bak-1": b"one",
        "memory/a.md.bak-2": b"two",
    }


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_dry_run_tells_the_same_and_writes_nothing(tmp_path: Path, overwrite: bool) -> None:
    fill(tmp_path / "workspace", {"MEMORY.md": b"mine"})
    items = [
        Item("MEMORY.md", b"theirs"),
        Item("memory/x/b.md", b"new"),
        Item("../c.md", b""),
        Item("memory/x/b.md", b""),
    ]

    told = take_in(tmp_path, items, overwrite=overwrite, dry_run=True)
    before = content(tmp_path)
    done = take_in(tmp_path, items, overwrite=overwrite)

    assert before == {"workspace/MEMORY.md": b"mine"}
    assert told.to_json() == done.to_json()


def test_links_here_are_not_written_through(tmp_path: Path) -> None:
    outside = fill(tmp_path / "outside", {"a.md": b"outside"})
    fill(tmp_path / "workspace", {"memory/real.md": b"x"})
    (tmp_path / "workspace" / "memory" / "out").symlink_to(outside)
    (tmp_path / "workspace" / "memory" / "a.md").symlink_to(outside / "a.md")
    items = [Item("memory/out/new.md", b"1"), Item("memory/a.md", b"2"), Item("memory/real.md/b.md", b"3")]

    report = take_in(tmp_path, items, overwrite=True)

    assert {outcome.state for outcome in report.outcomes} == {"refused"}
    assert ["is a link" in outcome.reason for outcome in report.outcomes] == [True, True, False]
    assert content(outside) == {"a.md": b"outside"}


# Names


@pytest.mark.parametrize(
    "path",
    ["../a.md", "memory/../../a.md", "/etc/a.md", "C:/a.md", "C:a.md", "memory\\a.md", "\\\\host\\a.md", "memory//a.md",
     "./a.md", "memory/\0.md", "memory/a\n.md", "", "~\ud800.md"],
)  # fmt: skip
def test_names_that_could_mean_another_place_are_refused(tmp_path: Path, path: str) -> None:
    report = take_in(tmp_path, [Item(path, b"x")])

    assert [outcome.state for outcome in report.outcomes] == ["refused"]
    assert content(tmp_path) == {}


@pytest.mark.parametrize("path", ["memory/a.png", "memory/a", "x.jsonl", "sessions/x/y.jsonl", "__MACOSX/._a.md"])
def test_what_is_no_note_is_passed_over(tmp_path: Path, path: str) -> None:
    report = take_in(tmp_path, [Item(path, b"x")])

    assert (states(report), report.is_whole) == ({path: "ignored"}, True)
    assert content(tmp_path) == {}


@pytest.mark.parametrize(
    "name", ["a:b.md", "what?.md", "trailing./a.md", 'say "x".md', "CON.md", "nul/a.md", "com1.x.md"]
)
def test_names_that_windows_does_not_allow_are_refused_there_alone(tmp_path: Path, name: str) -> None:
    assert isinstance(destination_of(f"memory/{name}", tmp_path, windows=True), UnusableItem)
    assert isinstance(destination_of(f"memory/{name}", tmp_path, windows=False), Destination)


def test_a_note_goes_where_it_is_indexed(tmp_path: Path) -> None:
    class Wiki:
        path, pattern = "wiki", "*/*.md"

    for path, place_file in {
        "USER.md": "USER.md",
        "a.md": "memory/a.md",
        "docs/a.md": "docs/a.md",
        "wiki/x/a.md": "wiki/x/a.md",
        "wiki/a.md": "memory/wiki/a.md",
        "one.md": "one.md",
    }.items():
        assert destination_of(path, tmp_path, ["docs", Wiki(), "one.md"]) == Destination("memory", place_file)


def test_names_that_differ_in_case_only_clash_where_the_disk_does_not_care(tmp_path: Path) -> None:
    items = [Item("memory/A.md", b"1"), Item("memory/a.md", b"2"), Item("Memory/a.md", b"3")]

    careless = import_items(items, target(tmp_path, ignores_case=True), dry_run=True)
    careful = import_items(items, target(tmp_path, ignores_case=False), dry_run=True)

    assert [outcome.state for outcome in careless.outcomes] == ["new", "refused", "new"]
    assert [outcome.state for outcome in careful.outcomes] == ["new"] * 3


def test_whether_the_disk_cares_for_case_is_seen_without_writing(tmp_path: Path) -> None:
    (tmp_path / "probe").touch()
    expected = (tmp_path / "PROBE").exists()

    assert ignores_case(tmp_path / "not" / "there") == expected


def test_one_name_twice_and_a_file_that_is_a_folder_are_refused(tmp_path: Path) -> None:
    items = [Item("memory/a.md", b"1"), Item("memory/a.md", b"2"), Item("memory/a.md/b.md", b"3")]

    assert [outcome.state for outcome in take_in(tmp_path, items).outcomes] == ["new", "refused", "refused"]
    assert content(tmp_path / "workspace") == {"memory/a.md": b"1"}


# Hostile and damaged archives


def zipped(file: Path, files: Mapping[str, bytes], *, mode: int = stat.S_IFREG | 0o644) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return file


def test_a_link_in_a_zip_is_no_file(tmp_path: Path) -> None:
    file = zipped(tmp_path / "x.zip", {"memory/a.md": b"/etc/passwd"}, mode=stat.S_IFLNK | 0o777)

    assert states(take_in(tmp_path / "there", read_zip(file))) == {"memory/a.md": "refused"}
    assert not (tmp_path / "there").exists()


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_files, "MIN_BUDGET_BYTES", 1_000_000)
    file = zipped(tmp_path / "x.zip", {f"memory/{number}.md": b"\0" * 1_000_000 for number in range(3)})

    with pytest.raises(MemslotError, match=r"would unpack to 3,000,000 bytes"):
        list(read_zip(file))


def test_a_file_or_an_archive_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_files, "MAX_FILE_BYTES", 10)
    file = zipped(tmp_path / "x.zip", {"memory/a.md": b"x" * 11, "memory/b.md": b"x"})
    assert states(take_in(tmp_path, read_zip(file))) == {"memory/a.md": "refused", "memory/b.md": "new"}

    monkeypatch.setattr(zip_files, "MAX_FILES", 1)
    with pytest.raises(MemslotError, match="holds 2 notes"):
        list(read_zip(file))


def test_a_torn_zip_imports_nothing(tmp_path: Path) -> None:
    file = zipped(tmp_path / "x.zip", {"memory/a.md": os.urandom(2000)})
    file.write_bytes(file.read_bytes()[:-100])

    with pytest.raises(MemslotError, match="not a valid zip"):
        list(read_zip(file))


def test_a_damaged_file_of_a_zip_is_refused_and_the_others_come_in(tmp_path: Path) -> None:
    good, bad = os.urandom(500), os.urandom(500)
    out = io.BytesIO()
    write_zip(out, [Item("memory/bad.md", bad), Item("memory/good.md", good)])
    data = bytearray(out.getvalue())
    at = data.index(bad[100:120])
    data[at] ^= 0xFF
    (tmp_path / "x.zip").write_bytes(data)

    assert states(take_in(tmp_path, read_zip(tmp_path / "x.zip"))) == {
        "memory/bad.md": "refused",
        "memory/good.md": "new",
    }


def test_the_manifest_is_held_against_the_files(tmp_path: Path) -> None:
    listed = [{"path": "memory/a.md", "sha256": "0" * 64}, {"path": "memory/gone.md", "sha256": "0" * 64}]
    manifest = {"format": "memslot-export", "version": 1, "files": listed}
    files = {"memory/a.md": b"changed", "memory/added.md": b"x", "manifest.json": json.dumps(manifest).encode()}

    found = states(take_in(tmp_path, read_zip(zipped(tmp_path / "x.zip", files))))

    assert found == {"memory/a.md": "refused", "memory/added.md": "new", "memory/gone.md": "refused"}


def test_an_archive_of_a_later_version_and_a_strangers_manifest(tmp_path: Path) -> None:
    later = zipped(tmp_path / "l.zip", {"manifest.json": b'{"format": "memslot-export", "version": 2}'})
    strangers = zipped(tmp_path / "s.zip", {"manifest.json": b"{[", "memory/a.md": b"x"})

    with pytest.raises(MemslotError, match="newer memslot"):
        list(read_zip(later))
    assert states(take_in(tmp_path, read_zip(strangers))) == {"memory/a.md": "new"}


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 400), st.integers(1, 255))
def test_a_zip_with_any_byte_changed_gives_true_files_or_a_plain_sentence(data: bytes, at: int, flip: int) -> None:
    out = io.BytesIO()
    write_zip(out, [Item("memory/a.md", data)])
    raw = bytearray(out.getvalue())
    raw[at % len(raw)] ^= flip
    with TemporaryDirectory() as name:
        file = Path(name, "x.zip")
        file.write_bytes(raw)
        try:
            found = list(read_zip(file))
        except MemslotError:
            return
    assert all(item.data == data for item in found if isinstance(item, Item))


@pytest.mark.parametrize(
    "line",
    [b'{"path": "memory/a.md", "te', b"[1]", b"{}", b'{"path": "memory/a.md"}',
     b'{"path": "memory/a.md", "base64": "%"}', b'{"path": "memory/a.md", "text": "\\ud800"}',
     b'{"path": "memory/a.md", "text": "x", "sha256": "00"}', b"\xff",
     b"[" * 100_000],
)  # fmt: skip
def test_a_torn_line_is_told_and_the_others_come_in(tmp_path: Path, line: bytes) -> None:
    stream = io.BytesIO(b'{"path": "memory/1.md", "text": "1"}\n' + line + b'\n\n{"path": "memory/2.md", "text": "2"}')

    report = take_in(tmp_path, read_json_lines(stream, "x"))

    assert [outcome.state for outcome in report.outcomes] == ["new", "refused", "new"]
    assert content(tmp_path / "workspace") == {"memory/1.md": b"1", "memory/2.md": b"2"}


# Faults


def test_kill_nine_leaves_whole_files_only_and_the_next_import_finishes(tmp_path: Path) -> None:
    notes = {f"memory/{number}.md": bytes([65 + number % 26]) * 300_000 for number in range(40)}
    old = {path: b"old" * 1000 for number, path in enumerate(notes) if number % 2}
    archive = tmp_path / "x.zip"
    with archive.open("wb") as out:
        write_zip(out, (Item(path, data) for path, data in notes.items()))
    program = textwrap.dedent("""
        import sys
        from pathlib import Path
        from memslot_memory_core.transfer.archive_import import Target, import_items
        from memslot_memory_core.transfer.zip_files import read_zip
        here = Path(sys.argv[1])
        print("ready", flush=True)
        import_items(read_zip(Path(sys.argv[2])), Target(here / "workspace", here / "sessions"), overwrite=True)
    """)
    for number in range(12):
        here = tmp_path / str(number)
        fill(here / "workspace", old)
        process = subprocess.Popen([sys.executable, "-c", program, str(here), str(archive)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.004 * number)
        process.kill()
        process.wait()
        process.stdout.close()

        for path, data in content(here / "workspace").items():
            if path.endswith(".md"):
                assert data in (notes[path], old.get(path)), f"{path} is torn"
        for each in (here / "workspace").rglob("*.tmp"):
            os.utime(each, (1, 1))  # long ago, so that nobody can be writing it still
        take_in(here, read_zip(archive), overwrite=True)
        after = content(here / "workspace")
        assert {path: data for path, data in after.items() if path.endswith(".md")} == notes
        assert {after[f"{path}.bak-1"] for path in old} == {b"old" * 1000}
        assert not [path for path in after if path.endswith(".tmp")]


@pytest.mark.usefixtures("modes_bind_root")
def test_a_folder_that_may_not_be_written_is_told(tmp_path: Path) -> None:
    folder = fill(tmp_path / "workspace", {"memory/a.md": b"x"}) / "memory"
    folder.chmod(0o500)
    try:
        report = take_in(tmp_path, [Item("memory/b.md", b"y")])
    finally:
        folder.chmod(0o700)

    assert states(report) == {"memory/b.md": "refused"}
