"""`memslot config`."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memslot.cli.options import json_option
from memslot.cli.output import print_json, say_done, say_warning

if TYPE_CHECKING:
    from memslot.config.paths import Places
    from memslot.plugins.loaded_config import LoadedConfig


@click.group("config")
def command() -> None:
    """Read and change the settings.

    \b
    Examples:
      memslot config get plugins.slots.memory
      memslot config set agents.defaults.memorySearch.query.maxResults 10
      memslot config unset agents.defaults.workspace
      memslot config validate
    """


@command.command()
@click.argument("key", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON even for a plain value.")
@click.option("--show-secrets", is_flag=True, help="Print keys and tokens unmasked.")
def get(key: str | None, as_json: bool, show_secrets: bool) -> None:
    """Print the value of KEY, or all settings. Defaults are filled in.

    \b
    Examples:
      memslot config get
      memslot config get agents.defaults.memorySearch.provider
    """
    from memslot.config.edit import get_value
    from memslot.config.schema import with_defaults
    from memslot.config.sensitive import masked
    from memslot.plugins.config_loader import load_config

    loaded = load_config(_places())
    for warning in loaded.warnings:
        say_warning(warning)
    tree: Any = with_defaults(loaded.schema, loaded.config.written())
    if key is None:
        tree = _without_nulls(tree)
    if not show_secrets:
        tree = masked(tree, also=_sensitive_settings(loaded))
    value = get_value(tree, key) if key else tree
    if isinstance(value, str) and not as_json:
        click.echo(value)
    else:
        print_json(value)


def _without_nulls(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _without_nulls(value) for key, value in tree.items() if value is not None}
    return [_without_nulls(each) for each in tree] if isinstance(tree, list) else tree


@command.command("set")
@click.argument("key")
@click.argument("value")
@click.option("--project", is_flag=True, help="Change the project's config instead of your own.")
def set_(key: str, value: str, project: bool) -> None:
    """Set KEY to VALUE in the config file. Comments and layout stay as they are.

    VALUE is parsed as JSON5 if possible (6, true, [1, 2]), else taken as text. A change that would make
    the config invalid is refused.

    \b
    Examples:
      memslot config set plugins.slots.memory memory-lancedb
      memslot config set agents.defaults.memorySearch.extraPaths '["~/docs"]'
      memslot config set plugins.entries.memory-lancedb.config.dbPath s3://bucket/memory
    """
    from memslot.config.edit import parse_cli_value, set_value
    from memslot.plugins.config_loader import tree_problems

    check = partial(tree_problems, places=_places())  # missing settings are reported, not refused
    _edit(project, key, lambda path: set_value(path, key, parse_cli_value(value), check=check))
    _warn_of_what_is_left()


@command.command()
@click.argument("key")
@click.option("--project", is_flag=True, help="Change the project's config instead of your own.")
def unset(key: str, project: bool) -> None:
    """Remove KEY from the config file and restore its default.

    \b
    Examples:
      memslot config unset agents.defaults.workspace
    """
    from memslot.config.edit import unset_value
    from memslot.plugins.config_loader import tree_problems

    check = partial(tree_problems, places=_places())
    _edit(project, key, lambda path: unset_value(path, key, check=check), unchanged="was not set in")


@command.command()
@json_option
def validate(as_json: bool) -> None:
    """Check the config file and the settings of every plugin in it.

    \b
    Examples:
      memslot config validate
      memslot config validate --json | jq -r '.problems[].problem'
    """
    from memslot.errors import ConfigError
    from memslot.plugins.config_loader import entry_problems, load_config
    from memslot.plugins.overview import decide_plugins

    places = _places()
    problems: list[Any] = []
    warnings: tuple[str, ...] = ()
    try:
        loaded = load_config(places)
    except ConfigError as error:
        if not as_json:
            raise
        problems = list(error.problems) or [str(error)]
    else:
        warnings = loaded.warnings
        problems = [problem for found in loaded.entry_problems.values() for problem in found]
        problems += entry_problems(loaded)
        problems += [slot.error for slot in decide_plugins(loaded, os.environ).slots if slot.error]
    if as_json:
        listed = [{"key": getattr(p, "key", None), "problem": str(p)} for p in problems]
        print_json({"file": str(places.config_file), "valid": not problems, "problems": listed})
    else:
        for warning in warnings:
            say_warning(warning)
        for problem in problems:
            click.echo(f"Problem: {problem}", err=True)
        if not problems:
            where = places.config_file if places.config_file.exists() else "No config file; every default"
            say_done(f"{where} is valid")
    if problems:
        raise click.exceptions.Exit(1)


@command.command()
def schema() -> None:
    """Print the config's JSON Schema, for editors.

    \b
    Examples:
      memslot config schema > config.schema.json
    """
    from memslot.errors import ConfigError
    from memslot.plugins.config_loader import load_config, parse_config

    try:
        loaded = load_config(_places())
    except ConfigError:  # the schema helps to fix it
        loaded = parse_config({})
    print_json(loaded.schema)


@command.command()
def path() -> None:
    """Print the path of the config file.

    \b
    Examples:
      memslot config path
      $EDITOR "$(memslot config path)"
    """
    click.echo(str(_places().config_file))


def _places() -> Places:
    from memslot.config.paths import Places

    return Places.from_env()


def _edit(project: bool, key: str, change: Any, unchanged: str = "already has that value in") -> None:
    places = _places()
    if not project:
        changed = change(places.config_file)
        say_done(f"{key} {'changed in' if changed else unchanged} {places.config_file}")
        return
    from memslot.config.project import find_project_file, project_file_at
    from memslot.config.trust import trust_project

    file = find_project_file(Path.cwd(), places) or project_file_at(Path.cwd())
    is_trusted = _is_trusted(file, places)
    changed = change(file)
    say_done(f"{key} {'changed in' if changed else unchanged} {file}")
    if is_trusted:
        trust_project(file, places)
    else:
        say_warning(f"{file} is not trusted; read it, then run `memslot trust`")


def _is_trusted(file: Path, places: Places) -> bool:
    """Whether a project file may be edited: it is trusted as it is, or does not exist yet."""
    from memslot.config.project import read_project_file
    from memslot.config.trust import read_trust

    return not file.exists() or read_trust(places).state_of(read_project_file(file)) == "trusted"


def _warn_of_what_is_left() -> None:
    """Warn after a change of plugins that still lack a setting, and of a slot that names the wrong plugin."""
    from memslot.plugins.config_loader import load_config
    from memslot.plugins.overview import decide_plugins

    activation = decide_plugins(load_config(_places()), os.environ)
    for slot in activation.slots:
        if slot.error:
            say_warning(slot.error)
    for decision in activation.decisions:
        if decision.code == "bad-config":
            say_warning(f"{decision.plugin.id} does not run yet: {decision.reason}")


def _sensitive_settings(loaded: LoadedConfig) -> set[str]:
    """The keys that plugins' manifests call sensitive."""
    plugins = loaded.catalog.plugins
    return {f"plugins.entries.{plugin.id}.config.{path}" for plugin in plugins for path in plugin.secret_paths}
