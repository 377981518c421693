"""The public names of `memslot` and `memslot.retrieval`, each with the first line of its docstring."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from types import ModuleType
from typing import Any

import memslot
import memslot.retrieval
from memslot.config.section import Section

from parts import attributes, signatures

_ELSEWHERE = {"__version__": "The version of the host, as text."}
_MADE_BY_THE_HOST = {"AgentRun", "AsyncAgentRun", "Host", "PluginContext"}
"""Nobody else calls these classes, so how they are made is left out."""
_TWINS = {"AsyncAgentRun": "AgentRun"}


def render() -> str:
    unknown = attributes.ABOUT.keys() - set(memslot.__all__)
    if unknown:
        raise SystemExit(f"docs/parts/attributes.py speaks of what is not public: {', '.join(sorted(unknown))}")
    return _entries(memslot)


def render_retrieval() -> str:
    return _entries(memslot.retrieval)


def _entries(facade: ModuleType) -> str:
    names = sorted(facade.__all__, key=lambda name: name.lower().strip("_"))
    return "\n\n".join(_entry(facade, name) for name in names)


def _entry(facade: ModuleType, name: str) -> str:
    value: Any = getattr(facade, name)
    parts = [f"### {name}"]
    if name in _ELSEWHERE:
        return "\n\n".join([*parts, _ELSEWHERE[name]])
    home = _home_of(facade, name, value)
    tree = signatures.parse(home)
    node = _definition(tree, name)
    if node is not None:
        signatures.spell_out_defaults(node, home)
    if isinstance(node, ast.ClassDef):
        shown = _class_line(node, value)
        about = signatures.first_line(ast.get_docstring(node))  # its own: Protocol has one, too
        members = _members(node) if about else ""
        parts += [f"```python no-run\n{shown}\n```", *filter(None, (about, members))]
    elif node is not None:
        # An overloaded function is described by its last definition.
        shown = signatures.signature(node)
        parts += [f"```python no-run\n{shown}\n```", signatures.first_line(inspect.getdoc(value))]
    else:
        parts.append(signatures.first_line(signatures.attribute_docs(tree).get(name)))
    if not parts[-1] or parts[-1].startswith("```"):
        raise SystemExit(f"{facade.__name__}.{name} has no docstring")
    return "\n\n".join(parts)


def _home_of(facade: ModuleType, name: str, value: Any) -> ModuleType:
    module = getattr(value, "__module__", None)
    if isinstance(value, type) or inspect.isfunction(value):
        return sys.modules[str(module)]
    return importlib.import_module(f"{facade.__name__}.{facade._HOME_OF[name]}")


def _definition(tree: ast.Module, name: str) -> ast.ClassDef | ast.FunctionDef | None:
    found = [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name]
    return found[-1] if found else None


def _class_line(node: ast.ClassDef, value: type) -> str:
    bases = [ast.unparse(base) for base in node.bases]
    # The settings are listed on the page about the config.
    is_record = (hasattr(value, "__dataclass_fields__") or hasattr(value, "_fields")) and not issubclass(value, Section)
    fields = [signatures.source(item) for item in node.body if isinstance(item, ast.AnnAssign) and is_record]
    head = f"class {node.name}({', '.join(bases)})" if bases else f"class {node.name}"
    if fields:
        return "\n".join([f"{head}:", *(f"    {field}" for field in fields)])
    init = next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None)
    if init is None or node.name in _MADE_BY_THE_HOST:
        return head
    shown = signatures.signature(init, bound=True)
    return f"{head}:\n" + "\n".join(f"    {line}" for line in shown.splitlines())


def _members(node: ast.ClassDef) -> str:
    """Everything public that says what it is for: attributes, properties and methods."""
    rows = [str(attribute) for attribute in attributes.set_by_init(node) if attribute.about]
    for item in node.body:
        if not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) or item.name.startswith("_"):
            continue
        about = signatures.first_line(ast.get_docstring(item)) or _borrowed(node.name, item.name)
        if not about:
            continue
        decorators = {ast.unparse(each) for each in item.decorator_list}
        if decorators & {"property", "cached_property"}:
            returns = signatures.source(item.returns) if item.returns else ""
            rows.append(str(attributes.Attribute(item.name, returns, about)))
        else:
            of_class = f"{node.name}." if decorators & {"classmethod", "staticmethod"} else ""
            shown = signatures.call(item, is_static="staticmethod" in decorators)
            rows.append(f"- `{of_class}{shown}`: {about}")
    return "\n".join(rows)


def _borrowed(owner: str, name: str) -> str:
    """What is said elsewhere: in the table of attributes, or about the synchronous twin."""
    if (said := attributes.about(owner, name)) or owner not in _TWINS:
        return said
    if said := attributes.about(_TWINS[owner], name):
        return said
    return signatures.first_line(inspect.getdoc(getattr(getattr(memslot, _TWINS[owner]), name, None)))
