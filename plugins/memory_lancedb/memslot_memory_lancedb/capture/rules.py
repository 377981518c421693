"""Decides whether a user's message is worth keeping, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from memslot import redact, strip_recalled

from memslot_memory_lancedb.capture import text_form
from memslot_memory_lancedb.capture.injection import REASONS as INJECTION_REASONS
from memslot_memory_lancedb.capture.injection import looks_like_injection
from memslot_memory_lancedb.capture.languages import Language, guess_language
from memslot_memory_lancedb.capture.normalization import fold, strip_invisible
from memslot_memory_lancedb.capture.text_form import statements
from memslot_memory_lancedb.capture.triggers import Kind, Trigger, find_custom, find_triggers

__all__ = ["Category", "Verdict", "detect_category", "judge", "looks_like_injection"]

MAX_CHARS = 500
_REDACTED = "[redacted]"
# For a rejected text, the beginning is enough to detect category and language.
_EXAMINED_CHARS = 2000
_NAMES = """
    my the a our is are was this that here here's its it's for to and your api key keys token tokens secret
    secrets password passwords passwd pwd passphrase login credential credentials access auth bearer remember
    please save note new mi mis el la es clave contrasena recuerda mein meine ist das der die passwort kennwort
    schlussel mon ma est le mot de passe cle meu minha senha chave lembre e moje heslo je klic
"""
_NAMES_A_SECRET = frozenset(_NAMES.split())
_UNWRITABLE = re.compile("[\ud800-\udfff]")
_WORD = re.compile(r"[^\W_]{2,}")


@dataclass(frozen=True)
class Verdict:
    """The decision about a text, and its reason.

    `rule` is the stable id of the rule that decided, `reason` its sentence, `trigger` the words that made the text
    worth keeping. `text` is what is or would be stored: recalled blocks stripped, secrets redacted, trimmed.
    """

    kept: bool
    reason: str
    rule: str
    category: Category
    trigger: str | None
    text: str
    language: Language | None


def judge(text: str, *, max_chars: int = MAX_CHARS, custom_triggers: Sequence[str] = ()) -> Verdict:
    """Decide whether a message is kept as a memory; the first rule that applies wins."""
    # Lone surrogates can't be encoded.
    text = _UNWRITABLE.sub("\ufffd", text)
    said = strip_recalled(text).strip()
    stored = redact(said).strip()
    if refused := _form(text, said, max_chars):
        return _refuse(*refused, stored)
    if stored != said and _only_secrets(stored):
        return _refuse("secret", "It contains nothing but a secret.", stored)
    if broken := looks_like_injection(said):
        return _refuse(f"injection.{broken}", INJECTION_REASONS[broken], stored)
    if form := text_form.pasted_form(said):
        return _refuse(form, text_form.REASONS[form], stored)
    return _judge_triggers(stored, tuple(fold(strip_invisible(word)).strip() for word in custom_triggers))


def _form(text: str, said: str, max_chars: int) -> tuple[str, str] | None:
    """The rule and its reason, if length alone decides."""
    if not said:
        if text.strip():
            return "recalled", "It is a block that was recalled from memory."
        return "empty", "It is empty."
    weight = text_form.weight(said) if len(said) <= max_chars else len(said)
    if weight < text_form.SHORTEST:
        return "too-short", f"It is shorter than {text_form.SHORTEST} characters."
    if weight > max_chars:
        return "too-long", f"It is longer than {max_chars} characters."
    return None


def _judge_triggers(stored: str, custom: Sequence[str]) -> Verdict:
    """The verdict on an otherwise acceptable text: kept if it has a trigger."""
    # Search the redacted text: a trigger is displayed and logged, and must not be part of a secret.
    folded = fold(strip_invisible(stored))
    triggers = find_triggers(folded)
    if trigger := find_custom(folded, custom):
        return _keep(trigger, triggers, stored)
    if not triggers:
        sentence = "It contains no trigger for keeping it."
        return Verdict(False, sentence, "no-trigger", "other", None, stored, guess_language(folded))
    if told := find_triggers(" . ".join(statements(folded))):
        return _keep(told[0], told, stored)
    return _refuse("question", "It is a question and states nothing.", stored)


def _keep(trigger: Trigger, triggers: Sequence[Trigger], stored: str) -> Verdict:
    category = category_of(triggers)
    language = trigger.language
    return Verdict(
        True, f"It says “{trigger.text}”.", f"trigger.{trigger.kind}", category, trigger.text, stored, language
    )


def _refuse(rule: str, reason: str, stored: str) -> Verdict:
    folded = fold(strip_invisible(stored[:_EXAMINED_CHARS]))
    return Verdict(False, reason, rule, category_of(find_triggers(folded)), None, stored, guess_language(folded))


def _only_secrets(stored: str) -> bool:
    rest = fold(stored.replace(_REDACTED, " "))
    return all(word in _NAMES_A_SECRET for word in _WORD.findall(rest))


Category = Literal["preference", "fact", "decision", "entity", "other"]

# A rule ("always answer in German") is a preference. A request to remember has no category of its own.
_CATEGORY: dict[Kind, Category] = {
    "decision": "decision",
    "preference": "preference",
    "entity": "entity",
    "fact": "fact",
    "rule": "preference",
}
_RANK: dict[Kind, int] = {kind: rank for rank, kind in enumerate(_CATEGORY)}


def detect_category(text: str) -> Category:
    """The category of a text by its first trigger; `other` without one."""
    return category_of(find_triggers(fold(strip_invisible(text))))


def category_of(triggers: Iterable[Trigger]) -> Category:
    """The category of these triggers: the first counts, habits last."""
    telling = [trigger for trigger in triggers if trigger.kind in _RANK]
    if not telling:
        return "other"
    first = min(telling, key=lambda trigger: (trigger.kind == "rule", trigger.rank, _RANK[trigger.kind]))
    return _CATEGORY[first.kind]
