"""Writes the packages: plugins and extensions as folders, a registry entry, and a bundle with everything inside."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memslot_mcp_server.clients.catalog import CLIENTS
from memslot_mcp_server.packages import description as d

Files = dict[str, str]
_BUNDLED = (
    "memslot",
    "memslot_core",
    "memslot_memory_core",
    "memslot_embed_providers",
    "memslot_importers",
    "memslot_mcp_server",
)
_WITH_HOOKS = ", recall before each prompt, and capture after each reply"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def export_packages(folder: Path, wheels: Path | None = None) -> list[Path]:
    """Write all packages below a folder, in place of older ones; returns what was written.

    With a folder of wheels, the bundle has memslot inside; without, it is installed from the package index.
    """
    made = []
    for name, files in (
        ("claude-code", claude_code_plugin()),
        ("codex", codex_plugin()),
        ("gemini", gemini_extension()),
        ("mcp-registry", {"server.json": _json(registry_entry())}),
    ):
        target = folder / name
        _remove_older(target, files)
        for path, text in files.items():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_text(text, encoding="utf-8", newline="\n")
        made.append(target)
    bundle = folder / f"{d.NAME}-{d.version()}.mcpb"
    bundle.write_bytes(mcp_bundle(wheels))
    return [*made, bundle]


def _remove_older(target: Path, files: Files) -> None:
    """Remove an earlier export, told by its first file. Raises FileExistsError for any other folder with content."""
    if not target.is_symlink() and not target.exists():
        return
    mark = target / next(iter(files))
    if target.is_symlink() or not target.is_dir():
        raise FileExistsError(f"{target} is in the way; choose another folder")
    if any(target.iterdir()) and not (mark.is_file() and d.NAME in mark.read_text(encoding="utf-8", errors="replace")):
        raise FileExistsError(f"{target} is not an earlier export and would be deleted; choose another folder")
    shutil.rmtree(target)


def claude_code_plugin() -> Files:
    """A marketplace with one plugin: server, hooks, a skill and two commands."""
    about = {"name": d.NAME, "description": d.DESCRIPTION}
    marketplace = {
        "name": d.NAME,
        "owner": {"name": d.AUTHOR},
        "description": d.DESCRIPTION,
        "plugins": [{**about, "source": "./plugin", "version": d.version(), "category": "productivity"}],
    }
    install = "claude plugin marketplace add ./claude-code\nclaude plugin install memslot@memslot"
    plugin = {
        ".claude-plugin/plugin.json": _json({**about, **_about_the_author()}),
        ".mcp.json": _json({"mcpServers": {d.NAME: {**d.SERVER, **CLIENTS["claude-code"].server.options}}}),
        "hooks/hooks.json": _json({"description": d.DESCRIPTION, **_hooks("claude-code")}),
        f"skills/{d.SKILL}/SKILL.md": d.skill(),
        **{
            f"commands/{name}.md": f"---\ndescription: {about}\nargument-hint: [text]\n---\n\n"
            + d.template(f"{name}.md").format(arguments="$ARGUMENTS")
            for name, about in d.COMMANDS.items()
        },
        "README.md": _readme("claude-code", install, f"{_WITH_HOOKS}, and the commands `/remember` and `/recall`"),
    }
    return {".claude-plugin/marketplace.json": _json(marketplace), **_below("plugin", plugin)}


def codex_plugin() -> Files:
    """A marketplace with one plugin: server, hooks and a skill."""
    marketplace = {
        "name": d.NAME,
        "interface": {"displayName": d.TITLE},
        "plugins": [
            {
                "name": d.NAME,
                "source": {"source": "local", "path": "./plugins/memslot"},
                "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                "category": "Productivity",
            }
        ],
    }
    manifest = {
        "name": d.NAME,
        "description": d.DESCRIPTION,
        **_about_the_author(),
        "skills": "./skills/",
        "hooks": "./hooks/hooks.json",
        "mcpServers": "./.mcp.json",
        "interface": {
            "displayName": d.TITLE,
            "shortDescription": d.DESCRIPTION,
            "developerName": d.AUTHOR,
            "category": "Productivity",
        },
    }
    install = "codex plugin marketplace add ./codex\ncodex plugin add memslot@memslot"
    plugin = {
        ".codex-plugin/plugin.json": _json(manifest),
        ".mcp.json": _json({"mcpServers": {d.NAME: {**d.SERVER, **CLIENTS["codex"].server.options}}}),
        "hooks/hooks.json": _json(_hooks("codex")),
        f"skills/{d.SKILL}/SKILL.md": d.skill(),
        "README.md": _readme("codex", install, f"{_WITH_HOOKS} (once you have trusted the hooks in Codex)"),
    }
    return {".agents/plugins/marketplace.json": _json(marketplace), **_below("plugins/memslot", plugin)}


def gemini_extension() -> Files:
    """An extension: server, hooks, a skill and two commands."""
    manifest = {
        "name": d.NAME,
        "version": d.version(),
        "description": d.DESCRIPTION,
        "mcpServers": {d.NAME: {**d.SERVER, **CLIENTS["gemini"].server.options}},
    }
    extras = f"{_WITH_HOOKS}, and the commands `/remember` and `/recall`"
    extension = {
        "gemini-extension.json": _json(manifest),
        "hooks/hooks.json": _json(_hooks("gemini")),
        f"skills/{d.SKILL}/SKILL.md": d.skill(),
        **{
            f"commands/{name}.toml": f"description = {json.dumps(about)}\nprompt = '''\n"
            + d.template(f"{name}.md").format(arguments="{{args}}")
            + "'''\n"
            for name, about in d.COMMANDS.items()
        },
        "README.md": _readme("gemini", "gemini extensions install ./gemini/memslot", extras),
    }
    return _below(d.NAME, extension)  # the folder is expected to have the extension's name


def registry_entry() -> dict[str, Any]:
    """The entry for the registry of MCP servers: how to start memslot without installing it."""
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": d.REGISTRY_NAME,
        "title": d.TITLE,
        "description": d.DESCRIPTION,
        "version": d.version(),
        "packages": [
            {
                "registryType": "pypi",
                "identifier": "memslot-mcp-server",
                "version": d.version(),
                "runtimeHint": "uvx",
                # The server alone has no memory to serve.
                "runtimeArguments": [{"type": "named", "name": "--with", "value": f"memslot=={d.version()}"}],
                "transport": {"type": "stdio"},
                "environmentVariables": [
                    {
                        "name": "MEMSLOT_HOME",
                        "description": "Folder with the notes and the config (default: ~/.memslot)",
                        "format": "filepath",
                    }
                ],
            }
        ],
    }


def mcp_bundle(wheels: Path | None) -> bytes:
    """A zip file that desktop programs install with one click; they bring uv, which brings Python."""
    inside = _own_wheels(wheels) if wheels is not None else []
    project = [
        "[project]",
        'name = "memslot-bundle"',
        f'version = "{d.version()}"',
        'requires-python = ">=3.11"',
        f'dependencies = ["memslot=={d.version()}", "memslot-mcp-server=={d.version()}"]',
        "",
        "[tool.uv]",
        "package = false",
        *(['find-links = ["wheels"]'] if inside else []),
    ]
    manifest = {
        "manifest_version": "0.4",
        "name": d.NAME,
        "display_name": d.TITLE,
        "version": d.version(),
        "description": d.DESCRIPTION,
        "author": {"name": d.AUTHOR},
        "license": d.LICENSE,
        "keywords": d.KEYWORDS,
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "server.py"],
                "env": {"MEMSLOT_HOME": "${user_config.home}"},
            },
        },
        "tools_generated": True,
        "prompts_generated": True,
        "user_config": {
            "home": {
                "type": "directory",
                "title": "Folder",
                "description": "Where your notes and the config are",
                "required": False,
                "default": "${HOME}/.memslot",
            }
        },
        "compatibility": {"platforms": ["darwin", "linux", "win32"], "runtimes": {"python": ">=3.11"}},
    }
    files: dict[str, bytes] = {
        "manifest.json": _json(manifest).encode(),
        "pyproject.toml": ("\n".join(project) + "\n").encode(),
        "server.py": b"from memslot_mcp_server.__main__ import main\n\nmain()\n",
        **{f"wheels/{wheel.name}": wheel.read_bytes() for wheel in inside},
    }
    return _zip(files)


def _own_wheels(folder: Path) -> list[Path]:
    found = [wheel for name in _BUNDLED for wheel in folder.glob(f"{name}-{d.version()}-*.whl")]
    if len(found) != len(_BUNDLED):
        raise FileNotFoundError(2, "wheels of memslot are missing; run: make dist", str(folder))
    return found


def _hooks(client: str) -> dict[str, Any]:
    place = CLIENTS[client].hooks
    assert place is not None
    return {
        "hooks": {
            event: [place.group(f"{d.HOOK_COMMAND} {client} {name}", seconds)]
            for event, (name, seconds) in place.events.items()
        }
    }


def _about_the_author() -> dict[str, Any]:
    return {"version": d.version(), "author": {"name": d.AUTHOR}, "license": d.LICENSE, "keywords": d.KEYWORDS}


def _readme(client: str, install: str, extras: str) -> str:
    return d.template("readme.md").format(description=d.DESCRIPTION, install=install, extras=extras, client=client)


def _below(folder: str, files: Mapping[str, str]) -> Files:
    return {f"{folder}/{path}": text for path, text in files.items()}


def _json(tree: Any) -> str:
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"


def _zip(files: Mapping[str, bytes]) -> bytes:
    """The same bytes for the same files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
    return out.getvalue()
