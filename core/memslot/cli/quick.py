"""The quick door: a plugin's command that was answered before, in a state that still holds.

To read the config, load the plugins and set up the command line takes half a second, and to a coding agent that asks
its memory from a shell that is the whole answer. A plugin may name, in its manifest under `provides.quick`, a function
that answers a command by itself. When such a command has gone the usual way and well, `quick_record` keeps what that
function needs to know, with everything it depends on: the files of the config, what is installed, variables. The next
time it is asked first. Whatever has changed, is unusual or goes wrong here means the usual way, before anything is
printed; so this is never another behaviour, only a shorter way to the same one.

Nothing may be imported here that Python has not loaded anyway, except on the way to an answer.
"""

from __future__ import annotations

import os
import sys

from memslot.plugins.fingerprints import fingerprint, installed_fingerprint, search_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from memslot.plugins.fingerprints import Fingerprint

_MOST_WORDS = 2
_CONFIG_NAMES = ("memslot.json5", "memslot.toml", "memslot.json")
_PROJECT_FOLDER = ".memslot"
_HEEDED = ("MEMSLOT_HOME", "MEMSLOT_CONFIG", "MEMSLOT_QUICK")
_SECRET_ENDINGS = ("_KEY", "_TOKEN", "_SECRET")

here: Standing | None = None
"""Where this process began, for the record that it may leave."""
is_kept = False
"""Whether the record that there is for this command holds."""


class Standing:
    """What is known of a command before it begins: where it runs, and how the files are that may decide."""

    def __init__(self, env: Mapping[str, str], folder: str) -> None:
        self.home = os.path.join(folder, os.path.expanduser(env.get("MEMSLOT_HOME") or "~/.memslot"))  # noqa: PTH111, PTH118
        config = env.get("MEMSLOT_CONFIG") or ""
        projects = list(_project_folders(os.path.realpath(folder)))
        self.key = [self.home, config, folder if config else "", projects, search_path()]
        self.installed = installed_fingerprint()
        places = [*projects, *([] if config else [self.home])]
        files = [os.path.join(place, name) for place in places for name in _CONFIG_NAMES]  # noqa: PTH118
        self.files: dict[str, Fingerprint] = {file: fingerprint(file) for file in files}

    def file(self, command: str) -> str:
        """Where the record for a command is."""
        from binascii import crc32

        number = crc32(repr(self.key).encode("utf-8", "surrogatepass"))
        return os.path.join(self.home, "cache", f"quick-{command.replace(' ', '-')}-{number:08x}.json")  # noqa: PTH118


def _project_folders(folder: str) -> Iterable[str]:
    """The folders at and above this one in which a project's config may be."""
    while True:
        place = os.path.join(folder, _PROJECT_FOLDER)  # noqa: PTH118
        if os.path.lexists(place):
            yield place
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            return
        folder = above


def is_plain(env: Mapping[str, str]) -> bool:
    """Whether no variable asks for something out of the ordinary, such as other plugins, strictness or a trace."""
    if env.get("MEMSLOT_QUICK") == "0":
        return False
    return not any(name.lstrip("_").startswith("MEMSLOT_") and name not in _HEEDED for name in env)


def digests(names: Iterable[str], env: Mapping[str, str], salt: str) -> dict[str, str]:
    """What these variables, and all that seem to hold a key, are set to: comparable, and not readable."""
    try:
        from _blake2 import blake2b  # hashlib would load all of OpenSSL
    except ImportError:
        from hashlib import blake2b
    wanted = {*names, *(name for name in env if name.endswith(_SECRET_ENDINGS))}
    return {
        name: blake2b(f"{salt}{env[name]}".encode("utf-8", "surrogateescape")).hexdigest()
        for name in sorted(wanted)
        if name in env
    }


def answer(arguments: Sequence[str]) -> bool:
    """Answer a command if there is a record for it that holds; False, with nothing printed, if not."""
    global here, is_kept
    command, record = "", None
    try:
        if not arguments or not _is_word(arguments[0]) or not is_plain(os.environ):
            return False
        here = Standing(os.environ, os.getcwd())  # noqa: PTH109
        command, record = _find_record(here, arguments)
        text = None if record is None else _ask(record, arguments[len(command.split()) :])
    except Exception:  # the usual way finds out what is wrong, and says so
        is_kept = False
        return False
    if text is None:
        return False
    _print(text)
    return True


def _find_record(standing: Standing, arguments: Sequence[str]) -> tuple[str, dict[str, Any] | None]:
    for count in range(_MOST_WORDS, 0, -1):
        words = arguments[:count]
        if len(words) == count and all(map(_is_word, words)):
            command = " ".join(words)
            data = _read_private(standing.file(command))
            if data is not None:
                return command, _checked(standing, data)
    return "", None


def _is_word(argument: str) -> bool:
    return argument.replace("-", "").isalnum() and argument[0] != "-"


def _read_private(file: str) -> bytes | None:
    """The content of a file that nobody but this user can have written."""
    try:
        with open(file, "rb", buffering=0) as opened:  # noqa: PTH123
            status = os.fstat(opened.fileno())
            if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
                return None
            return opened.read()
    except OSError:
        return None


def _checked(standing: Standing, data: bytes) -> dict[str, Any] | None:
    """The record, if all that it depends on is as it was."""
    global is_kept
    import json

    record: dict[str, Any] = json.loads(data)
    if record["key"] != standing.key or record["installed"] != standing.installed:
        return None
    for path, kept in record["watched"].items():
        now = standing.files[path] if path in standing.files else fingerprint(path)
        if now != (None if kept is None else tuple(kept)):
            return None
    if not standing.files.keys() <= record["watched"].keys():
        return None
    if record["env"] != digests(record["names"], os.environ, record["salt"]):
        return None
    is_kept = True
    return record


def _ask(record: Mapping[str, Any], arguments: Sequence[str]) -> str | None:
    import gc
    from importlib import import_module

    module, _, function = record["entry"].partition(":")
    gc.disable()  # what is loaded now stays until the end, which is near
    try:
        answered = getattr(import_module(module), function)(list(arguments), record["data"])
    finally:
        gc.enable()
    if answered is None or isinstance(answered, str):
        return answered
    from memslot.text import json_text

    return json_text(answered, sys.stdout.encoding)


def _print(text: str) -> None:
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except OSError as error:
        # Nobody reads on (`| head -1`), or the disk is full; what is left must not be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1 if isinstance(error, BrokenPipeError) else f"Error: the answer cannot be written: {error.strerror}")
