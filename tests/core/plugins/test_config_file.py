"""Several settings changed at once: shown as one diff without a secret, then written all or none."""

from __future__ import annotations

from pathlib import Path

import pytest
from memslot import ConfigError, ConfigFile, Places

KEY = "sk-" + "q1w2e3r4t5" * 4
TEXT = """{
  // The memory.
  plugins: {
    slots: { memory: "memory-core" }, // as it was
    entries: { "memory-lancedb": { config: { recallLimit: 4, embedding: { apiKey: "%s" } } } },
  },
}
"""
ENTRY = ("plugins", "entries", "memory-lancedb", "config")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    found = Places.from_env({"MEMSLOT_HOME": str(tmp_path)})
    found.config_file.write_text(TEXT.replace("%s", KEY), encoding="utf-8")
    return found


def test_a_diff_names_each_change_and_writes_nothing(places: Places) -> None:
    before = places.config_file.read_text()
    changed = ConfigFile(places).preview_diff([((*ENTRY, "recallLimit"), 6), ((*ENTRY, "autoCapture"), True)])
    shown = "\n".join(changed.lines)
    assert "recallLimit: 4" in shown
    assert "recallLimit: 6" in shown
    assert "autoCapture" in shown
    assert KEY not in shown
    assert places.config_file.read_text() == before == changed.before


def test_changes_are_written_together_with_comments_kept(places: Places) -> None:
    config = ConfigFile(places)
    changes = [((*ENTRY, "recallLimit"), None), ((*ENTRY, "autoCapture"), True)]
    assert config.change(changes, expected=config.preview_diff(changes).before)
    text = places.config_file.read_text()
    assert "recallLimit" not in text
    assert "autoCapture: true" in text
    assert "// as it was" in text
    assert KEY in text
    assert not config.change(changes, expected=text), "the second time nothing changes"


def test_one_refused_setting_refuses_all(places: Places) -> None:
    before = places.config_file.read_text()
    config = ConfigFile(places)
    changes = [((*ENTRY, "autoCapture"), True), ((*ENTRY, "recallLimit"), 1000)]
    for write in (lambda: config.preview_diff(changes), lambda: config.change(changes, expected=before)):
        with pytest.raises(ConfigError, match="recallLimit"):
            write()
    assert places.config_file.read_text() == before


def test_a_file_that_changed_since_is_refused(places: Places) -> None:
    config = ConfigFile(places)
    changes = [((*ENTRY, "recallLimit"), 6)]
    seen = config.preview_diff(changes).before
    other = seen.replace("as it was", "as it is")
    places.config_file.write_text(other, encoding="utf-8")
    with pytest.raises(ConfigError, match="changed meanwhile"):
        config.change(changes, expected=seen)
    assert places.config_file.read_text() == other


def test_a_key_that_takes_the_place_of_another_is_seen_as_a_change_and_not_read(places: Places) -> None:
    fresh = "sk-" + "z0x9c8v7b6" * 4
    changed = ConfigFile(places).preview_diff([((*ENTRY, "embedding", "apiKey"), fresh)])
    shown = "\n".join(changed.lines)
    assert changed.lines
    assert KEY not in shown
    assert fresh not in shown
    assert "*** (new)" in shown


def test_a_short_secret_hides_itself_and_no_part_of_a_word(places: Places) -> None:
    changed = ConfigFile(places).preview_diff([((*ENTRY, "embedding", "apiKey"), "memory")])
    shown = "\n".join(changed.lines)
    assert 'apiKey: "memory"' not in shown
    assert "memory-lancedb" in shown


def test_a_config_that_is_not_there_yet_is_made(tmp_path: Path) -> None:
    places = Places.from_env({"MEMSLOT_HOME": str(tmp_path)})
    config = ConfigFile(places)
    changes = [(("plugins", "slots", "memory"), "none")]
    changed = config.preview_diff(changes)
    assert changed.before == ""
    assert config.change(changes, expected="")
    assert ConfigFile(places).get(("plugins", "slots", "memory")) == "none"
