"""All exceptions that memslot raises deliberately.

MemslotError
├── ConfigError            the config file is wrong; `.problems` lists everything at once
├── TrustError             a project's config can't be used because it is not trusted
├── PluginError            a plugin cannot be used
│   ├── ManifestError      its manifest is missing, broken or wrong
│   ├── PluginLoadError    its code could not be imported or registered
│   └── HookError          one of its hooks raised or timed out (strict mode only)
├── SessionError           a conversation cannot be read, written or imported
├── SlotError              a slot names a plugin that is missing or of the wrong kind
├── NameClashError         two active plugins register the same tool, command or provider name
├── ToolError              a tool call failed
│   └── ToolArgumentsError the arguments don't match the tool's schema
├── FileBusyError          another process has held a file's lock for too long
├── FileChangedError       a file changed since it was read, and was not written
├── EmbeddingCancelledError  embedding was cancelled before all texts were done
└── ProviderError          an embedding provider cannot be used
    ├── UnknownProviderError  no active plugin registers a provider with that name
    ├── ProviderBusyError     a transient failure: worth a retry
    ├── ProviderRefusedError  an auth or quota error: a retry won't help
    │   └── VectorSizeError   its vectors don't have the model's dimensions
    └── InputTooLargeError    the request is too large: worth splitting

A message is one sentence for the user: what is wrong, why, and what to do next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memslot.config.problems import ConfigProblem


class MemslotError(Exception):
    """Base of all errors that memslot raises deliberately."""


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
    """A manifest is missing, broken, or does not describe its plugin; `faults` lists its mistakes."""

    def __init__(self, message: str, faults: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults)


class PluginLoadError(PluginError):
    """A plugin's code could not be imported or registered."""


class HookError(PluginError):
    """A hook raised or timed out in strict mode."""


class SessionError(MemslotError):
    """A conversation cannot be read, written or imported."""


class SlotError(MemslotError):
    """A slot names a plugin that is not installed or is of the wrong kind."""


class NameClashError(MemslotError):
    """Two active plugins register the same name."""


class ToolError(MemslotError):
    """A tool call failed."""


class ToolArgumentsError(ToolError):
    """The arguments don't match the tool's schema."""


class FileBusyError(MemslotError):
    """Another process has held a file's lock for too long; nothing was written."""


class FileChangedError(MemslotError):
    """A file changed since it was read; nothing was written."""


class EmbeddingCancelledError(MemslotError):
    """Embedding was cancelled; finished texts are in the cache."""


class ProviderError(MemslotError):
    """An embedding provider cannot be used."""


class UnknownProviderError(ProviderError):
    """No active plugin registers an embedding provider with that name."""


class ProviderBusyError(ProviderError):
    """A transient failure: rate limit, server error, lost connection."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds the provider asked to wait, if any."""


class ProviderRefusedError(ProviderError):
    """The provider rejects this key, account or model; a retry won't help."""


class VectorSizeError(ProviderRefusedError):
    """The provider's vectors don't have its model's dimensions."""


class InputTooLargeError(ProviderError):
    """The request is too large; the same texts in smaller requests may work."""
