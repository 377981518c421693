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


def signature(function: Function, *, bound: bool = False) -> str:
    """`def name(…) -> …` on one line, or with one argument per line where that is too long."""
    arguments = _arguments(function.args)[1 if bound else 0 :]
    returns = f" -> {source(function.returns)}" if function.returns else ""
    start = ("async def " if isinstance(function, ast.AsyncFunctionDef) else "def ") + function.name
    line = f"{start}({', '.join(arguments)}){returns}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{start}(", *(f"    {argument}," for argument in arguments), f"){returns}"])


def call(function: Function, *, is_static: bool = False) -> str:
    """`name(argument: type = default, …) -> type` on one line, as somebody who has the object writes it."""
    arguments = _arguments(function.args)[0 if is_static else 1 :]
    returns = f" -> {source(function.returns)}" if function.returns else ""
    waits = "await " if isinstance(function, ast.AsyncFunctionDef) else ""
    return f"{waits}{function.name}({', '.join(arguments)}){returns}"


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


def spell_out_defaults(node: ast.AST, module: ModuleType) -> None:
    """Put values where the source has names of constants, and plain defaults where it has a dataclass's `field(…)`."""
    for item in ast.walk(node):
        if isinstance(item, ast.AnnAssign) and item.value is not None:
            item.value = _plain_default(item.value, module)
        elif isinstance(item, ast.arguments):
            item.defaults = [_plain_default(each, module) for each in item.defaults]
            item.kw_defaults = [None if each is None else _plain_default(each, module) for each in item.kw_defaults]


def _plain_default(value: ast.expr, module: ModuleType) -> ast.expr:
    hidden = ast.Constant(...)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "field":
        given = {each.arg: each.value for each in value.keywords}
        factory = given.get("default_factory")
        made = {"dict": ast.Dict([], []), "list": ast.List([], ast.Load()), "tuple": ast.Tuple([], ast.Load())}
        return given.get("default") or made.get(factory.id if isinstance(factory, ast.Name) else "", hidden)
    if isinstance(value, ast.Name):
        known = getattr(module, value.id, None)
        if isinstance(known, int | float | str):
            return ast.Constant(known)
        return hidden if value.id.startswith("_") or callable(known) else value
    return value


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
