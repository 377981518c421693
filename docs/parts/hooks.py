"""The hooks, from `memslot/hookspecs.py` and the examples in `docs/hook_examples`."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

from memslot import hookspecs

from parts import signatures

EXAMPLES = Path(__file__).resolve().parent.parent / "hook_examples"


def list_hooks() -> list[ast.FunctionDef]:
    """The hooks in the order of the contract."""
    tree = signatures.parse(hookspecs)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [node for node in functions if hasattr(getattr(hookspecs, node.name), "memslot_budget")]


def render_table() -> str:
    lines = ["| hook | kind | budget | in one sentence |", "|---|---|---|---|"]
    for hook in list_hooks():
        doc = signatures.first_line(_about(hook.name)[0])
        lines.append(f"| [`{hook.name}`](#{hook.name}) | {_kind(hook.name)} | {_budget(hook.name)} | {doc} |")
    return "\n".join(lines)


def render() -> str:
    return "\n\n".join(_entry(hook) for hook in list_hooks())


def _entry(hook: ast.FunctionDef) -> str:
    about, since = _about(hook.name)
    when, code = read_example(hook.name)
    return "\n".join(
        [
            f"### {hook.name}",
            "",
            "```python no-run",
            signatures.signature(hook),
            "```",
            "",
            about,
            "",
            f"- **Runs:** {when}",
            f"- **Budget:** {_budget(hook.name)}"
            + ("." if _kind(hook.name) == "registration" else ", or the plugin's `hooks.timeoutMs`."),
            f"- **Since:** {since}.",
            "",
            "```python",
            code,
            "```",
        ]
    )


def _about(name: str) -> tuple[str, str]:
    """What a hook's docstring says, as one paragraph after the other, and since when it is there."""
    text = inspect.getdoc(getattr(hookspecs, name)) or ""
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    whole = "\n\n".join(paragraphs)
    before, mark, rest = whole.partition("Since ")
    version, _, after = rest.partition(".")
    if not mark:
        raise SystemExit(f"the docstring of {name} does not say since which host API it is there")
    return (before.strip() + "\n\n" + after.strip()).strip(), version


def _kind(name: str) -> str:
    return "registration" if name.startswith("register_") else "lifecycle"


def _budget(name: str) -> str:
    seconds: float = getattr(hookspecs, name).memslot_budget
    return f"{seconds:g} s"


def read_example(name: str) -> tuple[str, str]:
    """When the hook runs (the example's docstring), and the code below it."""
    source = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    when = ast.get_docstring(tree)
    if not when:
        raise SystemExit(f"docs/hook_examples/{name}.py needs a docstring that says when the hook runs")
    last_line = tree.body[0].end_lineno or 1
    return " ".join(when.split()), "\n".join(source.splitlines()[last_line:]).strip()
