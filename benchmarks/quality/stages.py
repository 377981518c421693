"""Workspaces, each indexed once, and what is asked of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import question_sets
from measures import Memory, answered, find, injected, recalled
from question_sets import LANGUAGES, NOTE_SETS, Files, Question, QuestionSet, off_topic, off_topic_for_notes
from series import Series

Ask = Callable[[Memory], Sequence[Series]]
Pick = Callable[[Sequence[Question]], Sequence[Question]]
"""Takes some of a set's questions, for a quicker look."""

COMMITTED = (
    "paraphrases",
    "off-topic",
    "lists",
    *(f"paraphrases-{language}" for language in LANGUAGES),
    "cross",
    "prompts",
    *NOTE_SETS,
)
WITH_CONVERSATIONS = (
    "locomo",
    "off-topic-locomo",
    "recall",
    "paraphrases-among",
    "off-topic-among",
    "lists-among",
    "recall-lancedb",
)
LONGMEMEVAL = "longmemeval"
NAMES = (*COMMITTED, *WITH_CONVERSATIONS, LONGMEMEVAL)


@dataclass(frozen=True)
class Stage:
    """One workspace; stages of the same `folder` follow each other, and only what differs is indexed anew."""

    folder: str
    files: Files
    asks: Mapping[str, Ask]

    def only(self, sets: Sequence[str]) -> Stage:
        return replace(self, asks={name: ask for name, ask in self.asks.items() if name in sets})


def committed_stages(pick: Pick) -> list[Stage]:
    english = question_sets.paraphrases()
    stages = [
        Stage("paraphrases", english.files, {**_finds(english, pick), **_is_silent("off-topic", pick)}),
        *(_stage(each, pick) for each in (question_sets.lists(), question_sets.cross())),
        *(_stage(question_sets.paraphrases(language), pick) for language in LANGUAGES),
    ]
    prompts = _picked(question_sets.prompts(), pick)
    stages.append(Stage("prompts", prompts.files, {"prompts": lambda memory: recalled(memory, prompts)}))
    return [*stages, *(_notes_stage(name, pick) for name in NOTE_SETS)]


def conversation_stages(file: Path, pick: Pick) -> list[Stage]:
    """LoCoMo alone, then with the paraphrases' notes among it, one file each, then with the same as lists."""
    locomo = question_sets.conversations(file)
    english, lists = question_sets.paraphrases(), question_sets.lists()
    asked = _picked(locomo, pick)

    def recall(memory: Memory) -> list[Series]:
        strange = [injected(memory, pick(off_topic(kind)), "recall", f"off-topic {kind}") for kind in ("far", "near")]
        return [*recalled(memory, asked, "recall"), *strange]

    alone = {**_finds(locomo, pick), **_is_silent("off-topic-locomo", pick), "recall": recall}
    among = {**_finds(english, pick, "paraphrases-among"), **_is_silent("off-topic-among", pick)}
    return [
        Stage("locomo", locomo.files, alone),
        Stage("locomo", {**locomo.files, **english.files}, among),
        Stage("locomo", {**locomo.files, **lists.files}, _finds(lists, pick, "lists-among")),
    ]


def _stage(asked: QuestionSet, pick: Pick) -> Stage:
    return Stage(asked.id, asked.files, _finds(asked, pick))


def _notes_stage(name: str, pick: Pick) -> Stage:
    asked, strange = _picked(question_sets.notes(name), pick), pick(off_topic_for_notes(name))
    return Stage(
        name,
        asked.files,
        {name: lambda memory: [*find(memory, asked), answered(memory, strange, name, "off-topic")]},
    )


def _finds(asked: QuestionSet, pick: Pick, name: str | None = None) -> dict[str, Ask]:
    some = _picked(asked, pick)
    return {name or asked.id: lambda memory: find(memory, some, name)}


def _is_silent(name: str, pick: Pick) -> dict[str, Ask]:
    return {name: lambda memory: [answered(memory, pick(off_topic(kind)), name, kind) for kind in ("far", "near")]}


def _picked(asked: QuestionSet, pick: Pick) -> QuestionSet:
    return replace(asked, questions=pick(asked.questions))
