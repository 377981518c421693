"""What is looked for in a memory before a prompt is answered."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot.retrieval.prompts import MAX_QUERIES, prompt_queries

CODING = """Please fix the failing test of the parser.

```python
def parse(text):
    return text  # what did we decide about this thing?
```

> Somebody else said that we should use a queue.

2026-01-02 12:00:00 ERROR the worker did not answer in time
Traceback (most recent call last):
  File "parser.py", line 3, in parse
/srv/app/lib/parser.py is where it happened
Which database did we choose for the `billing` service?
"""


def test_code_logs_and_quotes_are_left_out() -> None:
    assert prompt_queries(CODING) == [
        "Please fix the failing test of the parser. Which database did we choose for the billing service?",
        "Which database did we choose for the billing service?",
        "Please fix the failing test of the parser.",
    ]


@pytest.mark.parametrize("prompt", ["What does Ana like to drink?", "tea", "zyxomat-77", "安娜喜欢喝什么？"])
def test_one_sentence_is_asked_as_it_is(prompt: str) -> None:
    assert prompt_queries(f"  {prompt}\n") == [prompt]


def test_a_short_prompt_is_also_asked_as_a_whole() -> None:
    prompt = "Ana is coming on Sunday.\nWhat does she like to drink?"

    assert prompt_queries(prompt) == [
        "Ana is coming on Sunday. What does she like to drink?",
        "What does she like to drink?",
        "Ana is coming on Sunday.",
    ]


def test_a_short_prompt_is_asked_without_its_code() -> None:
    queries = prompt_queries("Sort this list please.\n```\nsort(x)\n```\nHow did we name the sorted one?")

    assert queries[0] == "Sort this list please. How did we name the sorted one?"
    assert not any("sort(x)" in query for query in queries)


def test_a_name_that_is_no_sentence_is_asked_with_the_rest() -> None:
    assert prompt_queries("Zyxomat? Please tell me about that.") == [
        "Zyxomat? Please tell me about that.",
        "Please tell me about that.",
    ]


def test_of_many_sentences_the_last_are_asked_and_the_first() -> None:
    sentences = [
        f"The windmill in the village of {name} turns."
        for name in ["Aden", "Bonn", "Cork", "Dover", "Esch", "Faro", "Gent", "Hull", "Ulm"]
    ]

    queries = prompt_queries(" ".join(sentences))

    assert len(queries) == MAX_QUERIES
    assert queries == [*sentences[:1:-1], sentences[0]]


def test_sentences_without_spaces_are_told_apart() -> None:
    assert prompt_queries("安娜喜欢喝什么？大门的密码是多少？")[1:] == ["大门的密码是多少？", "安娜喜欢喝什么？"]


def test_a_prompt_of_nothing_but_code_is_asked_as_a_whole() -> None:
    (query,) = prompt_queries("```\nx = 1\n```")

    assert "x = 1" in query


def test_blank_prompts_ask_nothing() -> None:
    assert prompt_queries(" \n\t") == []


@given(st.text(max_size=500))
def test_whatever_is_written_there_are_few_queries_of_one_line(prompt: str) -> None:
    queries = prompt_queries(prompt)

    assert len(queries) <= MAX_QUERIES
    assert bool(queries) == bool(prompt.strip())
    assert all(query.strip() and len(query) <= 400 and "\n" not in query for query in queries)


HUGE = {
    "a line without spaces": "a" * 10_000_000,
    "a line of words": "word " * 2_000_000,
    "blanks": " " * 5_000_000 + "x",
    "a path": "/a" * 2_000_000,
    "a path that ends in nothing": "/" + "a.-" * 1_000_000,
    "full stops": ". " * 1_500_000,
    "closing quotes": "." + "\"')]" * 1_000_000,
    "full stops and closing quotes": '."' * 1_500_000,
    "colons": "a:" * 2_000_000,
    "rules": "-=" * 2_000_000 + "x",
    "short lines": ("a" * 39 + "\n") * 100_000,
    "checkboxes": "- [ ] " * 500_000,
    "call sites": "at " + "x" * 3_000_000,
}


@pytest.mark.parametrize("prompt", HUGE.values(), ids=HUGE)
def test_no_prompt_takes_long(prompt: str) -> None:
    """By a factor of ten: what is quadratic takes hours."""
    before = time.process_time()

    assert len(prompt_queries(prompt)) <= MAX_QUERIES
    assert time.process_time() - before < 15
