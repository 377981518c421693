"""What all packages say about memslot."""

from __future__ import annotations

from importlib import metadata, resources

NAME = "memslot"
TITLE = "memslot"
DESCRIPTION = "Long-term memory for AI agents: notes that are searched, recalled and written over MCP"
AUTHOR = "memslot"
LICENSE = "MIT"
KEYWORDS = ["memory", "notes", "search", "recall"]
REGISTRY_NAME = "io.github.memslot/memslot"
"""Its name in the MCP registry; the package's README repeats it, which proves the ownership."""
SERVER = {"command": "memslot", "args": ["mcp"]}
HOOK_COMMAND = "memslot-hook"

SKILL = "memory"
SKILL_DESCRIPTION = (
    "Search and write long-term memory. Use it before answering questions about people, preferences, decisions or "
    "earlier work, and whenever something should be remembered for later conversations."
)
COMMANDS = {
    "remember": "Write something down in memslot's memory",
    "recall": "Search memslot's memory and answer from it",
}


def version() -> str:
    """The version of this package, which is that of all of memslot."""
    return metadata.version("memslot-mcp-server")


def template(name: str) -> str:
    """Read a template of the packages."""
    return (resources.files("memslot_mcp_server.packages") / "templates" / name).read_text(encoding="utf-8")


def skill() -> str:
    """The skill as Claude Code, Codex and Gemini CLI read it."""
    return f"---\nname: {SKILL}\ndescription: {SKILL_DESCRIPTION}\n---\n\n{template('skill.md')}"


def instructions() -> str:
    """A paragraph for AGENTS.md or CLAUDE.md."""
    return template("instructions.md")
