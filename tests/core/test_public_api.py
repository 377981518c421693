"""What can be imported from `memslot`, and what that costs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import memslot
import memslot.errors
import memslot.retrieval
import pytest

PUBLIC = [
    "AgentRun",
    "AgentStart",
    "AsyncAgentRun",
    "BatchJobs",
    "BatchState",
    "CacheKey",
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
    "Finding",
    "examine",
    "Hosts",
    "config_stamp",
    "list_all",
    "listen",
    "MemoryFinding",
    "recalled_blocks",
    "MemoryPoint",
    "MemoryVersion",
    "CompactionFlush",
    "ChatType",
    "Config",
    "starter_memory",
    "read_session_file",
    "read_agent_export",
    "read_agent_lines",
    "read_opencode",
    "find_coding_agent",
    "read_jsonl",
    "read_parts",
    "extra_install_command",
    "install_command",
    "SessionImport",
    "ImportedSession",
    "ForeignSession",
    "ForeignLine",
    "ConfigFile",
    "ConfigError",
    "Diagnostic",
    "EmbeddingCache",
    "EmbeddingCancelledError",
    "EmbeddingPipeline",
    "EmbeddingProvider",
    "EmbeddingProviderSpec",
    "FileBusyError",
    "FileChangedError",
    "FileStamp",
    "FlushTurn",
    "HOST_API",
    "HookError",
    "Host",
    "InputTooLargeError",
    "ManifestError",
    "Memory",
    "MemoryCache",
    "MemoryHit",
    "MemoryFiles",
    "MemoryItem",
    "MemoryPage",
    "MemoryReceipt",
    "MemorySearch",
    "MemorySearchOutcome",
    "MemoryStack",
    "MemoryStatus",
    "MemoryText",
    "MemoryWritten",
    "MemslotError",
    "Message",
    "NameClashError",
    "Places",
    "PluginContext",
    "PluginError",
    "PluginLoadError",
    "PromptSection",
    "ProviderBusyError",
    "ProviderError",
    "ProviderOptions",
    "ProviderRefusedError",
    "RecalledItem",
    "RunInfo",
    "SecretMask",
    "Section",
    "Selection",
    "Session",
    "SessionError",
    "SessionRecord",
    "SessionStore",
    "SessionSummary",
    "SingleFlight",
    "SlotError",
    "StackHit",
    "StackOutcome",
    "StillRunningError",
    "Text",
    "Tool",
    "ToolArgumentsError",
    "ToolCall",
    "ToolCallVerdict",
    "ToolError",
    "ToolResult",
    "Transcript",
    "TrustError",
    "UnknownProviderError",
    "VectorSizeError",
    "__version__",
    "atomic_file",
    "capabilities_of",
    "clean_lines",
    "count_tokens",
    "edit_json",
    "unset_json",
    "embed_in_batches",
    "encodable",
    "fence",
    "file_lock",
    "file_stamp",
    "find_secrets",
    "hookimpl",
    "is_silent_reply",
    "key_of",
    "make_private_dir",
    "message_text",
    "note_lock",
    "one_blas_thread",
    "one_line",
    "print_hit",
    "print_json",
    "say_remarks",
    "print_pairs",
    "print_table",
    "provider_key",
    "real_path",
    "redact",
    "redact_lines",
    "say_done",
    "say_warning",
    "search_memory",
    "setting",
    "strip_recalled",
    "to_ms",
    "visible",
    "without_starter",
    "Workers",
    "wrap",
    "write_file",
]

RETRIEVAL = [
    "Background",
    "DateRange",
    "ENGLISH",
    "Evidence",
    "GAP",
    "LANGUAGES",
    "Matcher",
    "MeaningScale",
    "Noise",
    "QueryTerms",
    "QueryWords",
    "SAMPLE_SIZE",
    "STEMMING_TOKENIZER",
    "Term",
    "TermForms",
    "Token",
    "Tokenizer",
    "UNICODE_TOKENIZER",
    "WEAK_SCORE",
    "WeightedTerm",
    "Weights",
    "background_texts",
    "background_version",
    "calibrated",
    "chance",
    "choose_words",
    "closeness_to_dates",
    "diversify",
    "find_dates",
    "fold",
    "fuse",
    "gather_evidence",
    "index_forms",
    "index_stems",
    "index_text",
    "make_snippet",
    "parts_of",
    "prompt_queries",
    "query_terms",
    "ranks",
    "recall_score",
    "relevance_of",
    "same_text",
    "same_words",
    "says",
    "shared_words",
    "script_of",
    "stems",
    "text_score",
]


def test_public_names_are_exactly_these() -> None:
    assert sorted(memslot.__all__) == sorted(PUBLIC)
    assert sorted(memslot.retrieval.__all__) == sorted(RETRIEVAL)


def test_dir_lists_the_public_names_only() -> None:
    assert dir(memslot) == sorted(PUBLIC)
    assert dir(memslot.retrieval) == sorted(RETRIEVAL)


@pytest.mark.parametrize(("facade", "names"), [(memslot, PUBLIC), (memslot.retrieval, RETRIEVAL)])
def test_public_names_can_be_imported(facade: ModuleType, names: list[str]) -> None:
    namespace: dict[str, object] = {}
    exec(f"from {facade.__name__} import {', '.join(names)}", namespace)  # noqa: S102  what a person writes
    assert {name: namespace[name] is getattr(facade, name) for name in names} == dict.fromkeys(names, True)


@pytest.mark.parametrize(("facade", "names"), [(memslot, PUBLIC), (memslot.retrieval, RETRIEVAL)])
def test_no_public_name_is_that_of_a_module(facade: ModuleType, names: list[str]) -> None:
    """Whoever imported the module first would get it in place of what the facade promises."""
    folder = Path(str(facade.__file__)).parent

    assert {path.stem for path in folder.iterdir()} & set(names) == set()


def test_an_unknown_name_says_so() -> None:
    with pytest.raises(AttributeError, match="'memslot' has no attribute 'Hots'"):
        memslot.Hots  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"'memslot\.retrieval' has no attribute 'Mather'"):
        memslot.retrieval.Mather  # type: ignore[attr-defined]


@pytest.mark.parametrize(("facade", "names"), [(memslot, PUBLIC), (memslot.retrieval, RETRIEVAL)])
def test_type_checkers_see_the_names_that_are_there(facade: ModuleType, names: list[str]) -> None:
    """The block for type checkers repeats the names; it must not fall behind."""
    source = Path(str(facade.__file__)).read_text(encoding="utf-8")
    seen = re.findall(r"import (\w+) as \1$", source, re.MULTILINE)

    assert sorted(seen) == sorted(set(names) - {"__version__"})


def _imported_by(statement: str) -> set[str]:
    code = f"import sys; before = set(sys.modules)\n{statement}\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


HEAVY = {
    "pydantic",
    "pydantic_core",
    "pluggy",
    "click",
    "rich",
    "numpy",
    "jsonschema_rs",
    "pyjson5",
    "tomlkit",
    "Stemmer",
}


@pytest.mark.parametrize(
    "statement",
    [
        "import memslot",
        "from memslot import MemslotError, HookError",
        "from memslot import fence, redact, strip_recalled",
        "from memslot.retrieval import MeaningScale, calibrated, find_dates, make_snippet, parts_of, query_terms",
    ],
)
def test_import_brings_nothing_heavy(statement: str) -> None:
    imported = _imported_by(statement)

    assert "memslot" in imported
    assert imported & HEAVY == set()


def test_hookimpl_costs_pluggy_and_nothing_else() -> None:
    assert _imported_by("from memslot import hookimpl") & HEAVY == {"pluggy"}


# The exception tree


def _drawn_tree() -> dict[str, str | None]:
    """Class to base, as drawn in the docstring: each level is four columns further to the right."""
    parents: dict[str, str | None] = {}
    above: list[str] = []
    for line in (memslot.errors.__doc__ or "").splitlines():
        match = re.match(r"([│├└─\s]*)(\w+Error)\b", line)
        if match is None:
            continue
        depth = len(match[1]) // 4
        del above[depth:]
        parents[match[2]] = above[-1] if above else None
        above.append(match[2])
    return parents


def _real_tree() -> dict[str, str | None]:
    classes = [value for value in vars(memslot.errors).values() if isinstance(value, type)]
    ours = [value for value in classes if issubclass(value, Exception) and value.__module__ == "memslot.errors"]
    return {each.__name__: each.__base__.__name__ if each.__base__ not in (Exception, None) else None for each in ours}


def test_exception_tree_is_as_drawn() -> None:
    drawn = _drawn_tree()

    assert len(drawn) > 10
    assert drawn == _real_tree()


def test_every_exception_is_public() -> None:
    assert _real_tree().keys() <= set(PUBLIC)
