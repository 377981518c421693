"""The public names of `memslot`, each with what its docstring says first."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from types import ModuleType
from typing import Any

import memslot

from parts import signatures

_ELSEWHERE = {"__version__": "The version of the host, as text."}


def render() -> str:
    return "\n\n".join(_entry(name) for name in sorted(memslot.__all__, key=lambda name: name.lower().strip("_")))


def _entry(name: str) -> str:
    value: Any = getattr(memslot, name)
    parts = [f"### {name}"]
    if name in _ELSEWHERE:
        return "\n\n".join([*parts, _ELSEWHERE[name]])
    home = _home_of(name, value)
    tree = signatures.parse(home)
    node = _definition(tree, name)
    if isinstance(node, ast.ClassDef):
        shown = _class_line(node, value)
        parts += [f"```python no-run\n{shown}\n```", signatures.first_line(inspect.getdoc(value))]
        members = _members(node)
        if members:
            parts.append(members)
    elif node is not None:
        # An overloaded function is described by its last definition.
        shown = signatures.signature(node)
        parts += [f"```python no-run\n{shown}\n```", signatures.first_line(inspect.getdoc(value))]
    else:
        parts.append(signatures.first_line(signatures.attribute_docs(tree).get(name)))
    if not parts[-1]:
        raise SystemExit(f"memslot.{name} has no docstring")
    return "\n\n".join(parts)


def _home_of(name: str, value: Any) -> ModuleType:
    module = getattr(value, "__module__", None)
    if isinstance(value, type) or inspect.isfunction(value):
        return sys.modules[str(module)]
    return importlib.import_module(f"memslot.{memslot._HOME_OF[name]}")


def _definition(tree: ast.Module, name: str) -> ast.ClassDef | ast.FunctionDef | None:
    found = [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name]
    return found[-1] if found else None


def _class_line(node: ast.ClassDef, value: type) -> str:
    bases = [ast.unparse(base) for base in node.bases]
    is_dataclass = hasattr(value, "__dataclass_fields__")
    fields = [signatures.source(item) for item in node.body if isinstance(item, ast.AnnAssign) and is_dataclass]
    head = f"class {node.name}({', '.join(bases)})" if bases else f"class {node.name}"
    return "\n".join([f"{head}:", *(f"    {_shorten(field)}" for field in fields)]) if fields else head


def _shorten(field: str) -> str:
    """A field without the machinery that makes its default."""
    return field.partition(" = field(")[0]


def _members(node: ast.ClassDef) -> str:
    """Methods and properties that are public and say what they do."""
    rows = []
    for item in node.body:
        if not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) or item.name.startswith("_"):
            continue
        about = signatures.first_line(ast.get_docstring(item))
        if not about:
            continue
        decorators = {ast.unparse(each) for each in item.decorator_list}
        if decorators & {"property", "cached_property"}:
            rows.append(f"- `{item.name}`: {about}")
        else:
            names = signatures.argument_names(item)[1:]
            waits = "await " if isinstance(item, ast.AsyncFunctionDef) else ""
            rows.append(f"- `{waits}{item.name}({', '.join(names)})`: {about}")
    return "\n".join(rows)
