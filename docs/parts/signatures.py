"""Signatures and docstrings as they stand in the source, so that they read the same under every Python."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from types import ModuleType

Function = ast.FunctionDef | ast.AsyncFunctionDef
WIDTH = 100


def parse(module: ModuleType) -> ast.Module:
    return ast.parse(Path(inspect.getfile(module)).read_text(encoding="utf-8"))


def signature(function: Function) -> str:
    """`def name(…) -> …` on one line, or with one argument per line where that is too long."""
    arguments = _arguments(function.args)
    returns = f" -> {source(function.returns)}" if function.returns else ""
    start = ("async def " if isinstance(function, ast.AsyncFunctionDef) else "def ") + function.name
    line = f"{start}({', '.join(arguments)}){returns}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{start}(", *(f"    {argument}," for argument in arguments), f"){returns}"])


def argument_names(function: Function) -> list[str]:
    """The names of all arguments, in order; `*` stands before those that are given by name only."""
    every = function.args
    names = [each.arg for each in (*every.posonlyargs, *every.args)]
    names += [f"*{every.vararg.arg}"] if every.vararg else ["*"] if every.kwonlyargs else []
    names += [each.arg for each in every.kwonlyargs]
    return [*names, f"**{every.kwarg.arg}"] if every.kwarg else names


def _arguments(arguments: ast.arguments) -> list[str]:
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(plain) - len(arguments.defaults)), *arguments.defaults]
    texts = [_argument(each, default) for each, default in zip(plain, defaults, strict=True)]
    if arguments.posonlyargs:
        texts.insert(len(arguments.posonlyargs), "/")
    if arguments.vararg:
        texts.append(f"*{_argument(arguments.vararg, None)}")
    elif arguments.kwonlyargs:
        texts.append("*")
    texts += [_argument(each, value) for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    if arguments.kwarg:
        texts.append(f"**{_argument(arguments.kwarg, None)}")
    return texts


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    text = argument.arg + (f": {source(argument.annotation)}" if argument.annotation else "")
    if default is None:
        return text
    return f"{text} = {source(default)}" if argument.annotation else f"{text}={source(default)}"


def source(node: ast.AST) -> str:
    """A node as code, with the quotes that the formatter likes."""
    text = ast.unparse(node)
    return text if '"' in text else text.replace("'", '"')


def first_line(text: str | None) -> str:
    """The first line of a docstring."""
    return (text or "").strip().split("\n", 1)[0].strip()


def attribute_docs(tree: ast.Module) -> dict[str, str]:
    """Docstrings below assignments: `NAME = …` followed by a text."""
    found: dict[str, str] = {}
    for node, after in zip(tree.body, tree.body[1:], strict=False):
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and is_text:
            assert isinstance(after, ast.Expr)
            assert isinstance(after.value, ast.Constant)
            found[node.targets[0].id] = str(after.value.value)
    return found
