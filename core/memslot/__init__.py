"""Long-term memory for AI agents, as plugins.

`Host` is all a program needs; the rest of the names are for plugin authors. They are imported when
they are first used, so that `import memslot` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from memslot.agent.compaction import CompactionFlush as CompactionFlush
    from memslot.agent.compaction import FlushTurn as FlushTurn
    from memslot.agent.compaction import count_tokens as count_tokens
    from memslot.agent.compaction import is_silent_reply as is_silent_reply
    from memslot.agent.messages import message_text as message_text
    from memslot.agent.prompt import PromptSection as PromptSection
    from memslot.agent.run import AgentRun as AgentRun
    from memslot.agent.run import AsyncAgentRun as AsyncAgentRun
    from memslot.blas import one_blas_thread as one_blas_thread
    from memslot.cli.memory_output import print_hit as print_hit
    from memslot.cli.memory_output import say_remarks as say_remarks
    from memslot.cli.output import print_json as print_json
    from memslot.cli.output import print_pairs as print_pairs
    from memslot.cli.output import print_table as print_table
    from memslot.cli.output import say_done as say_done
    from memslot.cli.output import say_warning as say_warning
    from memslot.clients import wrap as wrap
    from memslot.config.json5_edit import edit_json as edit_json
    from memslot.config.json5_edit import unset_json as unset_json
    from memslot.config.model import Config as Config
    from memslot.config.paths import Places as Places
    from memslot.config.paths import real_path as real_path
    from memslot.config.search_model import MemorySearch as MemorySearch
    from memslot.config.section import Section as Section
    from memslot.config.section import Text as Text
    from memslot.config.section import setting as setting
    from memslot.config.starter import starter_memory as starter_memory
    from memslot.config.starter import without_starter as without_starter
    from memslot.diagnostics import Diagnostic as Diagnostic
    from memslot.doctor import Finding as Finding
    from memslot.doctor import examine as examine
    from memslot.embeddings.cache import CacheKey as CacheKey
    from memslot.embeddings.cache import EmbeddingCache as EmbeddingCache
    from memslot.embeddings.cache import MemoryCache as MemoryCache
    from memslot.embeddings.contract import EmbeddingProvider as EmbeddingProvider
    from memslot.embeddings.contract import EmbeddingProviderSpec as EmbeddingProviderSpec
    from memslot.embeddings.contract import ProviderOptions as ProviderOptions
    from memslot.embeddings.contract import key_of as key_of
    from memslot.embeddings.contract import provider_key as provider_key
    from memslot.embeddings.jobs import BatchJobs as BatchJobs
    from memslot.embeddings.jobs import BatchState as BatchState
    from memslot.embeddings.jobs import embed_in_batches as embed_in_batches
    from memslot.embeddings.pipeline import EmbeddingPipeline as EmbeddingPipeline
    from memslot.embeddings.selection import Selection as Selection
    from memslot.errors import ConfigError as ConfigError
    from memslot.errors import EmbeddingCancelledError as EmbeddingCancelledError
    from memslot.errors import FileBusyError as FileBusyError
    from memslot.errors import FileChangedError as FileChangedError
    from memslot.errors import HookError as HookError
    from memslot.errors import InputTooLargeError as InputTooLargeError
    from memslot.errors import ManifestError as ManifestError
    from memslot.errors import MemslotError as MemslotError
    from memslot.errors import NameClashError as NameClashError
    from memslot.errors import PluginError as PluginError
    from memslot.errors import PluginLoadError as PluginLoadError
    from memslot.errors import ProviderBusyError as ProviderBusyError
    from memslot.errors import ProviderError as ProviderError
    from memslot.errors import ProviderRefusedError as ProviderRefusedError
    from memslot.errors import SessionError as SessionError
    from memslot.errors import SlotError as SlotError
    from memslot.errors import ToolArgumentsError as ToolArgumentsError
    from memslot.errors import ToolError as ToolError
    from memslot.errors import TrustError as TrustError
    from memslot.errors import UnknownProviderError as UnknownProviderError
    from memslot.errors import VectorSizeError as VectorSizeError
    from memslot.events import AgentStart as AgentStart
    from memslot.events import ChatType as ChatType
    from memslot.events import MemoryWritten as MemoryWritten
    from memslot.events import Message as Message
    from memslot.events import RecalledItem as RecalledItem
    from memslot.events import RunInfo as RunInfo
    from memslot.events import Session as Session
    from memslot.events import ToolCallVerdict as ToolCallVerdict
    from memslot.hookspecs import HOST_API as HOST_API
    from memslot.hookspecs import hookimpl as hookimpl
    from memslot.host import Host as Host
    from memslot.hosts import Hosts as Hosts
    from memslot.hosts import config_stamp as config_stamp
    from memslot.invisible import visible as visible
    from memslot.loopback import listen as listen
    from memslot.memory.capabilities import CanAudit as CanAudit
    from memslot.memory.capabilities import CanForget as CanForget
    from memslot.memory.capabilities import CanKeepFiles as CanKeepFiles
    from memslot.memory.capabilities import CanList as CanList
    from memslot.memory.capabilities import CanMap as CanMap
    from memslot.memory.capabilities import CanRead as CanRead
    from memslot.memory.capabilities import CanRefresh as CanRefresh
    from memslot.memory.capabilities import CanRemember as CanRemember
    from memslot.memory.capabilities import CanUndo as CanUndo
    from memslot.memory.capabilities import CanUpdate as CanUpdate
    from memslot.memory.capabilities import MemoryFiles as MemoryFiles
    from memslot.memory.capabilities import MemoryFinding as MemoryFinding
    from memslot.memory.capabilities import MemoryItem as MemoryItem
    from memslot.memory.capabilities import MemoryPage as MemoryPage
    from memslot.memory.capabilities import MemoryPoint as MemoryPoint
    from memslot.memory.capabilities import MemoryReceipt as MemoryReceipt
    from memslot.memory.capabilities import MemoryText as MemoryText
    from memslot.memory.capabilities import MemoryVersion as MemoryVersion
    from memslot.memory.capabilities import capabilities_of as capabilities_of
    from memslot.memory.contract import Memory as Memory
    from memslot.memory.contract import MemoryHit as MemoryHit
    from memslot.memory.contract import MemorySearchOutcome as MemorySearchOutcome
    from memslot.memory.contract import MemoryStatus as MemoryStatus
    from memslot.memory.contract import search_memory as search_memory
    from memslot.memory.fence import fence as fence
    from memslot.memory.fence import recalled_blocks as recalled_blocks
    from memslot.memory.fence import strip_recalled as strip_recalled
    from memslot.memory.paging import list_all as list_all
    from memslot.memory.paging import read_parts as read_parts
    from memslot.memory.stack import MemoryStack as MemoryStack
    from memslot.memory.stack import StackHit as StackHit
    from memslot.memory.stack import StackOutcome as StackOutcome
    from memslot.plugins.config_file import ConfigFile as ConfigFile
    from memslot.plugins.context import PluginContext as PluginContext
    from memslot.plugins.hints import extra_install_command as extra_install_command
    from memslot.plugins.hints import install_command as install_command
    from memslot.redaction.mask import SecretMask as SecretMask
    from memslot.redaction.redact import find_secrets as find_secrets
    from memslot.redaction.redact import redact as redact
    from memslot.redaction.redact import redact_lines as redact_lines
    from memslot.sessions.coding_agents.opencode import read_opencode as read_opencode
    from memslot.sessions.coding_agents.readers import find_coding_agent as find_coding_agent
    from memslot.sessions.coding_agents.readers import read_agent_export as read_agent_export
    from memslot.sessions.coding_agents.readers import read_agent_lines as read_agent_lines
    from memslot.sessions.imports import ForeignLine as ForeignLine
    from memslot.sessions.imports import ForeignSession as ForeignSession
    from memslot.sessions.imports import ImportedSession as ImportedSession
    from memslot.sessions.imports import SessionImport as SessionImport
    from memslot.sessions.record import SessionRecord as SessionRecord
    from memslot.sessions.session_files import read_session_file as read_session_file
    from memslot.sessions.store import SessionStore as SessionStore
    from memslot.sessions.summary import SessionSummary as SessionSummary
    from memslot.sessions.times import to_ms as to_ms
    from memslot.sessions.transcript import Transcript as Transcript
    from memslot.sessions.transcript import read_jsonl as read_jsonl
    from memslot.storage.atomic import FileStamp as FileStamp
    from memslot.storage.atomic import atomic_file as atomic_file
    from memslot.storage.atomic import file_stamp as file_stamp
    from memslot.storage.atomic import write_file as write_file
    from memslot.storage.folder import make_private_dir as make_private_dir
    from memslot.storage.lock import file_lock as file_lock
    from memslot.storage.lock import note_lock as note_lock
    from memslot.text import clean_lines as clean_lines
    from memslot.text import encodable as encodable
    from memslot.text import one_line as one_line
    from memslot.threads import SingleFlight as SingleFlight
    from memslot.threads import StillRunningError as StillRunningError
    from memslot.tools import Tool as Tool
    from memslot.tools import ToolCall as ToolCall
    from memslot.tools import ToolResult as ToolResult
    from memslot.workers import Workers as Workers

_HOMES = {
    "agent.compaction": ["CompactionFlush", "FlushTurn", "count_tokens", "is_silent_reply"],
    "events": [
        "AgentStart",
        "ChatType",
        "MemoryWritten",
        "Message",
        "RecalledItem",
        "RunInfo",
        "Session",
        "ToolCallVerdict",
    ],
    "agent.messages": ["message_text"],
    "agent.prompt": ["PromptSection"],
    "agent.run": ["AgentRun", "AsyncAgentRun"],
    "cli.memory_output": ["print_hit", "say_remarks"],
    "blas": ["one_blas_thread"],
    "cli.output": ["print_json", "print_pairs", "print_table", "say_done", "say_warning"],
    "config.json5_edit": ["edit_json", "unset_json"],
    "clients": ["wrap"],
    "config.model": ["Config"],
    "config.paths": ["Places", "real_path"],
    "config.search_model": ["MemorySearch"],
    "config.section": ["Section", "Text", "setting"],
    "config.starter": ["starter_memory", "without_starter"],
    "diagnostics": ["Diagnostic"],
    "doctor": ["Finding", "examine"],
    "embeddings.cache": ["CacheKey", "EmbeddingCache", "MemoryCache"],
    "embeddings.contract": [
        "EmbeddingProvider",
        "EmbeddingProviderSpec",
        "ProviderOptions",
        "key_of",
        "provider_key",
    ],
    "embeddings.jobs": ["BatchJobs", "BatchState", "embed_in_batches"],
    "embeddings.pipeline": ["EmbeddingPipeline"],
    "embeddings.selection": ["Selection"],
    "errors": [
        "ConfigError",
        "EmbeddingCancelledError",
        "FileBusyError",
        "FileChangedError",
        "HookError",
        "InputTooLargeError",
        "ManifestError",
        "MemslotError",
        "NameClashError",
        "PluginError",
        "PluginLoadError",
        "ProviderBusyError",
        "ProviderError",
        "ProviderRefusedError",
        "SessionError",
        "SlotError",
        "ToolArgumentsError",
        "ToolError",
        "TrustError",
        "UnknownProviderError",
        "VectorSizeError",
    ],
    "hookspecs": ["HOST_API", "hookimpl"],
    "host": ["Host"],
    "hosts": ["Hosts", "config_stamp"],
    "loopback": ["listen"],
    "memory.capabilities": [
        "CanAudit",
        "CanForget",
        "CanKeepFiles",
        "CanList",
        "CanMap",
        "CanRead",
        "CanRefresh",
        "CanRemember",
        "CanUndo",
        "CanUpdate",
        "MemoryFiles",
        "MemoryFinding",
        "MemoryItem",
        "MemoryPage",
        "MemoryPoint",
        "MemoryReceipt",
        "MemoryText",
        "MemoryVersion",
        "capabilities_of",
    ],
    "memory.contract": ["Memory", "MemoryHit", "MemorySearchOutcome", "MemoryStatus", "search_memory"],
    "memory.fence": ["fence", "recalled_blocks", "strip_recalled"],
    "memory.paging": ["list_all", "read_parts"],
    "memory.stack": ["MemoryStack", "StackHit", "StackOutcome"],
    "invisible": ["visible"],
    "plugins.context": ["PluginContext"],
    "redaction.mask": ["SecretMask"],
    "redaction.redact": ["find_secrets", "redact", "redact_lines"],
    "plugins.config_file": ["ConfigFile"],
    "plugins.hints": ["extra_install_command", "install_command"],
    "sessions.coding_agents.opencode": ["read_opencode"],
    "sessions.coding_agents.readers": ["find_coding_agent", "read_agent_export", "read_agent_lines"],
    "sessions.imports": ["ForeignLine", "ForeignSession", "ImportedSession", "SessionImport"],
    "sessions.record": ["SessionRecord"],
    "sessions.session_files": ["read_session_file"],
    "sessions.store": ["SessionStore"],
    "sessions.summary": ["SessionSummary"],
    "sessions.times": ["to_ms"],
    "sessions.transcript": ["Transcript", "read_jsonl"],
    "storage.atomic": ["FileStamp", "atomic_file", "file_stamp", "write_file"],
    "storage.folder": ["make_private_dir"],
    "storage.lock": ["file_lock", "note_lock"],
    "text": ["clean_lines", "encodable", "one_line"],
    "threads": ["SingleFlight", "StillRunningError"],
    "workers": ["Workers"],
    "tools": ["Tool", "ToolCall", "ToolResult"],
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME_OF]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'memslot' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"memslot.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
