"""Imports a plugin's entry, so that nothing it does while loading can take the host down."""

from __future__ import annotations

import importlib
import importlib.util
import io
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

from memslot.diagnostics import Diagnostics, describe_error
from memslot.errors import ManifestError, PluginLoadError
from memslot.plugins.info import PluginInfo
from memslot.plugins.ownership import refuse_unsafe_folder

_loading = threading.RLock()
"""One plugin at a time: another host must not see a module that is half imported."""


def load_plugin(plugin: PluginInfo, diagnostics: Diagnostics) -> object:
    """Import a plugin and return the object that holds its hooks. Raises PluginLoadError with one sentence."""
    with _loading:
        printed = _ThreadOutput(sys.stdout)
        # What a plugin prints while it loads would end up in the middle of a command's JSON.
        sys.stdout = printed
        try:
            return _import_entry(plugin)
        except (KeyboardInterrupt, PluginLoadError):
            raise
        except BaseException as error:
            raise PluginLoadError(
                f"its code could not be imported: {describe_error(error)}{_migration_hint(error)}"
            ) from error
        finally:
            if sys.stdout is printed:
                sys.stdout = printed.other
            if text := printed.text:
                message = f"printed {len(text)} characters at import, which were dropped: {text.strip()[:60]!r}"
                diagnostics.add(plugin.id, "import", message, level="warning")


def _migration_hint(error: BaseException) -> str:
    """Suggest a replacement for an option that memslot's hookimpl had before it was pluggy's own."""
    if isinstance(error, TypeError) and "'priority'" in str(error):
        return "; write @hookimpl(tryfirst=True) or @hookimpl(trylast=True) in place of a priority"
    return ""


class _ThreadOutput(io.TextIOBase):
    """Stands in for stdout: keeps what this thread prints, passes on what the others print."""

    def __init__(self, other: Any) -> None:
        self.other = other
        self.text = ""
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        if threading.get_ident() != self._thread:
            return int(self.other.write(text))
        self.text += text
        return len(text)

    def flush(self) -> None:
        if threading.get_ident() != self._thread:
            self.other.flush()


def _import_entry(plugin: PluginInfo) -> object:
    module_name, _, attribute = plugin.entry.partition(":")
    if plugin.origin == "folder":
        _refuse_unsafe(Path(plugin.root))
        _load_top_package(module_name.split(".")[0], Path(plugin.root))
    loaded: object = importlib.import_module(module_name)
    if attribute:
        try:
            loaded = getattr(loaded, attribute)
        except AttributeError:
            raise PluginLoadError(f"its module {module_name!r} has no {attribute!r}") from None
    if isinstance(loaded, type):
        raise PluginLoadError(f"its entry {plugin.entry!r} is a class; name a module or an instance")
    return loaded


def _refuse_unsafe(package: Path) -> None:
    """Look again at the moment of loading: permissions may have changed since the plugin was found."""
    try:
        refuse_unsafe_folder(package, package)
    except ManifestError as error:
        raise PluginLoadError(str(error)) from None


def _load_top_package(name: str, folder: Path) -> ModuleType:
    """Import a development folder's package in place, without changing sys.path."""
    init = folder / "__init__.py"
    known = sys.modules.get(name)
    if known is not None:
        if getattr(known, "__file__", None) == str(init):
            return known
        raise PluginLoadError(f"a package {name!r} is already loaded from {getattr(known, '__file__', 'elsewhere')}")
    if not init.is_file():
        raise PluginLoadError(f"there is no {init}")
    spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[str(folder)])
    if spec is None or spec.loader is None:
        raise PluginLoadError(f"{init} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module
