"""The files `memslot init` writes into a new home."""

from __future__ import annotations

from collections.abc import Sequence

_CONFIG = """\
// memslot's settings. Every key has a default; the lines that are commented out are examples.
// "memslot config schema" lists all keys; "memslot config validate" checks this file.
// "${NAME}" in any text is replaced by the environment variable NAME.
{
  plugins: {
    slots: {
      // The plugin that owns the memory; "none" turns memory off.
      memory: "memory-core",
    },
    // Settings of single plugins:
    // entries: { "memory-lancedb": { config: { dbPath: "~/memories" } } },
  },

  agents: {
    defaults: {
      // The folder with MEMORY.md and memory/YYYY-MM-DD.md. Default: workspace, beside this file.
      // workspace: "~/notes",

      memorySearch: {
        // "auto" picks the first provider that is ready, and works without an API key.
        // Others: universal, local, openai, gemini, voyage, ollama; "none" searches by keywords only.
        provider: "auto",
        // remote: { apiKey: "${OPENAI_API_KEY}" },

        // More Markdown to search besides the workspace:
        // extraPaths: ["~/docs", { path: "~/wiki", pattern: "**/*.md" }],

        query: {
          maxResults: 6,
        },
      },
    },
  },

  memory: {
    // Name the source under each snippet: on, off, or auto (in direct chats only).
    citations: "auto",
  },
}
"""

_MEMORY = """\
# Memory

Write down what should last: decisions, preferences, facts about people and projects.
Notes of a single day go into `memory/YYYY-MM-DD.md`. Both are plain Markdown; edit them as you like.

## Preferences

## Decisions

## People and projects
"""


def starter_config() -> str:
    """Return the commented config file of a new home; it changes no default."""
    return _CONFIG


def starter_memory() -> str:
    """Return the `MEMORY.md` of a new workspace."""
    return _MEMORY


def without_starter(lines: Sequence[str]) -> list[str]:
    """Blank the untouched sentences of a starter `MEMORY.md`, and its headings where nothing else is left.

    Line numbers stay as they are.
    """
    kept = ["" if line.strip() in _STARTER_SENTENCES else line for line in lines]
    return [""] * len(kept) if all(line.strip() in _STARTER_HEADINGS for line in kept) else kept


_STARTER_HEADINGS = frozenset(line for line in _MEMORY.split("\n") if not line or line.startswith("#"))
_STARTER_SENTENCES = frozenset(_MEMORY.split("\n")) - _STARTER_HEADINGS
