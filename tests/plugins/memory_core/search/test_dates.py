"""The day of a note or a message."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from memslot_memory_core.sources.dates import date_of, time_of_note


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("memory/2024-03-01.md", date(2024, 3, 1)),
        ("memory/work/2024-03-01-standup.md", date(2024, 3, 1)),
        ("memory/2024-02-30.md", None),
        ("memory/projects.md", None),
        ("MEMORY.md", None),
        ("notes/2024-03-01.md", None),
        ("memory/2024-03-01/plan.md", None),
    ],
)
def test_only_daily_notes_have_a_time(path: str, day: date | None) -> None:
    noon = time_of_note(path)

    assert (None if noon is None else datetime.fromtimestamp(noon).date()) == day
    assert date_of(path, None) == day


ZONES = ("HST10", "PST8PDT,M3.2.0,M11.1.0", "UTC0", "IST-5:30", "LINT-14")
"""Honolulu to Kiritimati; as rules, so that no zone files are needed."""


@pytest.fixture
def set_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def to(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield to
    monkeypatch.undo()
    time.tzset()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone cannot be set here")
@pytest.mark.parametrize("indexed_in", ZONES)
def test_a_daily_note_is_of_the_day_in_its_name_in_every_time_zone(
    make_manager: Any, set_zone: Callable[[str], None], indexed_in: str
) -> None:
    set_zone(indexed_in)
    manager = make_manager()
    for day in ("2024-03-09", "2024-03-10", "2024-03-11"):  # the clocks change on the 10th in PST8PDT
        (manager.workspace / "memory" / f"{day}.md").write_text("We planted the garden.\n")
    manager.sync()
    for asked_in in ZONES:
        set_zone(asked_in)
        hits = manager.search("what did we plant in the garden on 10 March 2024?").hits
        assert hits[0].path == "memory/2024-03-10.md", (indexed_in, asked_in)


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone cannot be set here")
@pytest.mark.parametrize("zone", ZONES)
def test_a_message_is_of_the_day_that_its_reader_had(set_zone: Callable[[str], None], zone: str) -> None:
    set_zone(zone)
    midnight = datetime(2024, 3, 10)
    assert date_of("sessions/a.jsonl", midnight.timestamp()) == date(2024, 3, 10)
    assert date_of("sessions/a.jsonl", (midnight - timedelta(seconds=1)).timestamp()) == date(2024, 3, 9)
