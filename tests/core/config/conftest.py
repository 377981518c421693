"""Places in a scratch folder, children that do some work, and JSON5 in all its spellings."""

from __future__ import annotations

import itertools
import json
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st
from memslot.config.paths import Places


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's home folder, empty."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("MEMSLOT_HOME", raising=False)
    monkeypatch.delenv("MEMSLOT_CONFIG", raising=False)
    return folder


@pytest.fixture
def places(home: Path) -> Places:
    found = Places.from_env({"MEMSLOT_HOME": str(home / ".memslot")})
    found.home.mkdir(mode=0o700)
    return found


def _in_child(work: Callable[[], str]) -> str:
    """What `work` returns when a forked child does it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writer, work().encode())
            status = 0
        except BaseException:
            os.write(writer, traceback.format_exc().encode())
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, answer
    return answer


@pytest.fixture
def in_child() -> Callable[[Callable[[], str]], str]:
    return _in_child


# Everything that may stand between two tokens of JSON5.
BLANKS = ["", "", "", " ", "\n", "\r\n", "\t", "\u2028", "\u2029", "\u00a0", "\ufeff", "/**/", "/* }]\",' */"]
BLANKS += ["// it's {[\"\n", "//\r", "/*\n//*/", "// x\u2028", "\v\f"]


def json5_texts(trees: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, str]]:
    """A tree, and one of the many ways to write it."""

    @st.composite
    def written(draw: st.DrawFn) -> tuple[Any, str]:
        tree = draw(trees)
        counter = itertools.count()

        def blank() -> str:
            chosen = draw(st.sampled_from([*BLANKS, "MARK", "MARK"]))
            return f"/*#{next(counter)}#*/" if chosen == "MARK" else chosen

        def text(value: str) -> str:
            body = json.dumps(value, ensure_ascii=draw(st.booleans()))[1:-1]
            if draw(st.booleans()):
                body = body + "\\\n"  # a line continuation adds nothing
            if draw(st.booleans()):
                return '"' + body + '"'
            return "'" + body.replace('\\"', '"').replace("'", "\\'") + "'"

        def key(value: str) -> str:
            return value if value.isidentifier() and value.isascii() and draw(st.booleans()) else text(value)

        def render(value: Any) -> str:
            if isinstance(value, dict):
                parts = [
                    f"{blank()}{key(name)}{blank()}:{blank()}{render(item)}{blank()}" for name, item in value.items()
                ]
            elif isinstance(value, list):
                parts = [f"{blank()}{render(item)}{blank()}" for item in value]
            elif isinstance(value, str):
                return text(value)
            elif isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return draw(st.sampled_from([str(value), f"+{value}", hex(value), f"0X{value:X}"]))
            else:
                return json.dumps(value)
            comma = f",{blank()}" if parts and draw(st.booleans()) else blank()
            inside = ",".join(parts) + comma
            return "{" + inside + "}" if isinstance(value, dict) else "[" + inside + "]"

        return tree, blank() + render(tree) + blank()

    return written()


_KEYS = st.sampled_from(["a", "b", "c", "$x_1", "with space", 'q"uote', "it's", "ünïcode", "a.b", "0", "\\"]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=4
)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=True, width=32)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
)
JSON_VALUES = st.recursive(
    _SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(_KEYS, below, max_size=4),
    max_leaves=10,
)
JSON_OBJECTS = st.dictionaries(_KEYS, JSON_VALUES, max_size=4)


@pytest.fixture(scope="session")
def json5() -> SimpleNamespace:
    """Strategies: `texts(trees)`, `values`, `objects`, `keys`."""
    return SimpleNamespace(texts=json5_texts, values=JSON_VALUES, objects=JSON_OBJECTS, keys=_KEYS)
