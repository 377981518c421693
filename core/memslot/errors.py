"""Every exception memslot raises on purpose.

MemslotError
├── ConfigError            the config file is wrong; `.problems` lists everything at once
├── TrustError             a project's config was asked for but nobody has trusted it
├── PluginError            a plugin cannot be used
│   ├── ManifestError      its manifest is missing, broken or lies
│   ├── PluginLoadError    its code could not be imported or registered
│   └── HookError          one of its hooks raised or ran out of time (strict mode only)
├── SessionError           a conversation cannot be read, written or taken over
├── SlotError              a slot names a plugin that is missing or of another kind
├── NameClashError         two active plugins register one tool, command or provider name
├── ToolError              a tool call went wrong
│   └── ToolArgumentsError the arguments do not fit the tool's schema
├── FileBusyError          another process has held a file's lock for too long
├── FileChangedError       a file is no longer the one that was read, and was not written
├── EmbeddingCancelledError  somebody asked to stop before all texts were embedded
└── ProviderError          an embedding provider cannot be used
    ├── UnknownProviderError  no active plugin registers a provider of that name
    ├── ProviderBusyError     it may work again soon: worth another try
    ├── ProviderRefusedError  a key or a quota: another try will not help
    │   └── VectorSizeError   its vectors have another length than its model should give
    └── InputTooLargeError    the request is larger than it takes: worth splitting

A message is one sentence for a person: what is wrong, why, and what to do next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memslot.config.problems import ConfigProblem


class MemslotError(Exception):
    """Base of all errors that memslot raises on purpose."""


class ConfigError(MemslotError):
    """The configuration cannot be used; every problem found is in `problems`."""

    def __init__(self, message: str, problems: Sequence[ConfigProblem] = ()) -> None:
        self.problems = tuple(problems)
        lines = [message, *(f"  {problem}" for problem in self.problems)]
        super().__init__("\n".join(lines))


class TrustError(MemslotError):
    """A project's config file is not trusted."""


class PluginError(MemslotError):
    """A plugin cannot be used."""


class ManifestError(PluginError):
    """A manifest is missing, broken, or does not describe the plugin it came with; `faults` are its single mistakes."""

    def __init__(self, message: str, faults: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults)


class PluginLoadError(PluginError):
    """A plugin's code could not be imported or registered."""


class HookError(PluginError):
    """A hook raised or ran out of time, and strict mode asked to hear of it."""


class SessionError(MemslotError):
    """A conversation cannot be read, written or taken over."""


class SlotError(MemslotError):
    """A slot names a plugin that is not installed or is of another kind."""


class NameClashError(MemslotError):
    """Two active plugins register the same name."""


class ToolError(MemslotError):
    """A tool call went wrong."""


class ToolArgumentsError(ToolError):
    """The arguments do not fit the tool's parameters."""


class FileBusyError(MemslotError):
    """Another process has held the lock of a file for too long; nothing was written."""


class FileChangedError(MemslotError):
    """A file is no longer the one that was read; nothing was written."""


class EmbeddingCancelledError(MemslotError):
    """Somebody asked to stop before all texts were embedded; what was finished is in the cache."""


class ProviderError(MemslotError):
    """An embedding provider cannot be used."""


class UnknownProviderError(ProviderError):
    """No active plugin registers an embedding provider of that name."""


class ProviderBusyError(ProviderError):
    """The provider may work again soon: too many requests, a server's fault, a lost connection."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """How many seconds the provider asked to wait, if it did."""


class ProviderRefusedError(ProviderError):
    """The provider will not serve this key, account or model; trying again will not help."""


class VectorSizeError(ProviderRefusedError):
    """The provider returns vectors of another length than its model should give."""


class InputTooLargeError(ProviderError):
    """The provider takes less at once; the same texts in smaller requests may work."""
