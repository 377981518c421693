"""`memslot paths`."""

from __future__ import annotations

import click

from memslot.cli.options import agent_option, json_option
from memslot.cli.output import print_json, print_pairs, say_warning


@click.command("paths")
@agent_option
@json_option
def command(agent: str | None, as_json: bool) -> None:
    """Print where memslot keeps its files.

    \b
    Examples:
      memslot paths
      memslot paths --json | jq -r .index
    """
    from memslot.config.paths import Places
    from memslot.plugins.config_loader import load_config

    places = Places.from_env()
    loaded = load_config(places)
    for warning in loaded.warnings:
        say_warning(warning)
    agent_id = loaded.config.known_agent_id(agent)
    store = loaded.config.memory_search(agent_id).written().get("store", {})
    workspace = loaded.config.workspace(agent_id, places)
    paths = {
        "home": str(places.home),
        "config": str(places.config_file),
        "workspace": str(workspace),
        "index": str(places.index_file(agent_id, workspace, store.get("path"))),
        "sessions": str(places.sessions_dir(agent_id)),
        "cache": str(places.cache_dir),
        "sharedCache": str(places.shared_cache_dir()),
        "plugins": str(places.home / "plugins"),
    }
    if as_json:
        print_json({"agent": agent_id, **paths})
    else:
        print_pairs(paths.items())
