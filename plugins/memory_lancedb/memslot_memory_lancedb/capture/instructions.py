"""Instructions to a model, matched by sequences of word classes rather than fixed phrases.

A text becomes a skeleton of one letter per word (see `lexicon`), `|` and `:` between clauses, `,` for a comma. Rules
are patterns over skeletons with bounded gaps, so that time grows with the length of the text and no faster.
"""

from __future__ import annotations

import re

from memslot_memory_lancedb.capture.lexicon import PHRASES_BY_FIRST, class_of
from memslot_memory_lancedb.capture.normalization import ADDRESS, without_addresses

_TOKEN = re.compile(r"\w+(?:'(?:t|s|m|ve|re|ll|d)\b)?|[.!?;]+(?=\s|$)|[\n|:,(\x00。！？：，、—–]")
_MARKS = {ADDRESS: "@", ":": ":", "：": ":", **dict.fromkeys(",(，、—–", ",")}
_TOOL_NAME = re.compile(
    r"memory_|(?:send|delete|wipe|transfer|exec|execute|run|write|remove|drop|post|http|shell|bash|upload|forward)_"
)
# What somebody else does, did or was told to do is a report, not an instruction.
_REPORT = re.compile(r"(S[^|:,&YVFCadRtrbcp]{0,4})[VFCadRtrbcEp]")


def skeleton(folded: str) -> str:
    """One letter per word of a folded text."""
    tokens: list[str] = _TOKEN.findall(without_addresses(folded))
    letters: list[str] = []
    memo: dict[str, str] = {}
    place, end = 0, len(tokens)
    while place < end:
        token = tokens[place]
        place += 1
        if token in PHRASES_BY_FIRST:
            for rest, letter in PHRASES_BY_FIRST[token]:
                if tokens[place : place + len(rest)] == rest:
                    letters.append(letter)
                    place += len(rest)
                    break
            else:
                letters.append(class_of(token))
            continue
        found = memo.get(token)
        if found is None:
            found = memo[token] = _letter(token)
        letters.append(found)
    bones = "".join(letters)
    # Twice, for a second verb after the same subject.
    return _REPORT.sub(r"\1.", _REPORT.sub(r"\1.", bones)) if "S" in bones else bones


def _letter(token: str) -> str:
    if not (token[0].isalnum() or token[0] == "_"):
        return _MARKS.get(token, "|")
    letter = class_of(token)
    if letter == "." and "_" in token:
        return "I" if _TOOL_NAME.match(token) else "i"
    if letter == "." and token.endswith(("gpt", "bot")):
        return "K"
    return letter


def _rule(*patterns: str) -> re.Pattern[str]:
    """A `~n` in a pattern is a gap of up to n words inside one clause; `~~n` may also pass a colon."""
    wide = [re.sub(r"~~(\d+)", r"[^|]{0,\1}", pattern) for pattern in patterns]
    return re.compile("|".join(re.sub(r"~(\d+)", r"[^|:]{0,\1}", pattern) for pattern in wide))


RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "override",
        _rule(
            "V~5[PYDWUL]~4[OQq]",
            "V~4[Oq]~6[PYDUT]",
            "V~3Q",
            "V~4H",
            "H~6Z",
            "[YKrE]~10[nX]~5H|[nX]~3H~3K",
            "[rR]~10n~4[OHJ]",
            "[YK]~8B~6[OH]",
            "K~12X~4F~3O",
            "V~4[|]?,?j,?~1[RrabC]",
            "[Oq]~2Z~1[|:]~2w~1[Oq]",
            "[YL]~3[Oq]~2V",
            "X~2F~5(?:Q|[PYDWUL]~4[Oq]|[Oq]~6[PYDUT])",
            "F~5[PYDWUL]~4[Oq]~1X",
            "V~3L(?=~8Y)(?=~8T)",
            "V~4D~4T~3Y",
            "[YDU]~4[Oq]~6Z",
            "[Oq]~2[UYD]~4Z",
            "(?:Q|Pq|P[.]q)~6Z",
            "L~2[PU]~10V",
            "V~3M~2U|V~2U~2M",
            "Yw[.]?[kOq]",
            "(?:^|[|:,])[.&]?w[.]?[OQq][.]?:",
            "wD[OQqM]?:",
        ),
    ),
    ("leak", _rule("R~4Q", "Y~1Q", "R~3Y~3[Oq]", "R~2[LM]~3U")),
    (
        "persona",
        _rule(
            "E~5[KJG]",
            "N",
            "p",
            "Y~8G",
            "l~3G",
            "K~6[nX]~1[OHJ]",
            "u~5[Gg]",
            "[YEV]~8K~3[nX]~3[OJ]",
            "[YE]~4r~3[nX]~2[OJ]",
        ),
    ),
    ("tool-call", _rule("C~5I", "C~4i~1f", "C~3f~1i")),
    (
        "exfiltration",
        _rule(
            "[us]~12a~6@",
            "a~6s~5@",
            "[aC]~6s~~6@",
            "X~2t~4u",
            "u~2X~2t",
            "t~2u~2X",
            "X~2t~4Y~3T",
            "h~3[adb]",
            "[ad]~6h",
            "Y~4X~1c",
            "[AYr]~6b~5s",
            "A~3t~1u",
            "r~2o",
            "b~10@~5Y~1e",
        ),
    ),
    ("encoded", _rule("x~~8[yFC]", "[yFC]~~4x~2&")),
)


def find_instruction(folded: str) -> str | None:
    """The rule that a folded text violates by instructing a model, or None."""
    bones = skeleton(folded)
    return next((name for name, pattern in RULES if pattern.search(bones)), None)
