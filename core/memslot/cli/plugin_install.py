"""`memslot plugins install` and `uninstall`: pip, in the environment that memslot runs in."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import click

from memslot.cli.output import say_done, say_warning
from memslot.cli.plugin_commands import read_current_overview


@click.command("install")
@click.argument("packages", nargs=-1, required=True)
@click.option("-U", "--upgrade", is_flag=True, help="Upgrade to the newest version.")
@click.option("-e", "--editable", is_flag=True, help="Install from a folder in editable mode.")
def install(packages: tuple[str, ...], upgrade: bool, editable: bool) -> None:
    """Install PACKAGES with pip into the environment that memslot runs in.

    \b
    Examples:
      memslot plugins install my-embedder
      memslot plugins install -e ./my-embedder
    """
    before = _installed_ids()
    arguments = ["install", *(["--upgrade"] if upgrade else [])]
    for package in packages:
        _refuse_option(package)
        arguments += ["--editable", package] if editable else [package]
    _run_pip(arguments)
    new = sorted(_installed_ids() - before)
    if new:
        say_done(f"new plugins: {', '.join(new)}")
    else:
        say_warning("pip succeeded, but installed no new plugin")


@click.command("uninstall")
@click.argument("plugin_id", metavar="ID")
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
def uninstall(plugin_id: str, yes: bool) -> None:
    """Uninstall a plugin's package. Its settings and data are kept.

    \b
    Examples:
      memslot plugins uninstall my-embedder
    """
    from memslot.cli.plugins import find_decision

    distribution = find_decision(plugin_id).plugin.distribution
    if distribution is None:
        raise click.ClickException(f"{plugin_id} comes from a folder in plugins.load.paths; remove it there")
    activation = read_current_overview().activation
    decisions = activation.decisions
    others = sorted(
        d.plugin.id for d in decisions if d.plugin.distribution == distribution and d.plugin.id != plugin_id
    )
    lost = [slot.name for slot in activation.slots if slot.owners and set(slot.owners) <= {plugin_id, *others}]
    if not yes:
        also = f" This also removes {', '.join(others)}." if others else ""
        also += "".join(f" The {slot} slot loses its owner." for slot in lost)
        click.confirm(f"Remove the package {distribution}?{also}", abort=True)
    _run_pip(["uninstall", "--yes", distribution])
    say_done(f"{distribution} is removed")
    for slot in lost:
        say_warning(f"the {slot} slot has no owner now; fill it with: memslot plugins enable ID")


def _installed_ids() -> set[str]:
    return {decision.plugin.id for decision in read_current_overview().activation.decisions}


def _refuse_option(package: str) -> None:
    if package.startswith("-"):
        raise click.UsageError(f"{package} is not a package name")


def _run_pip(arguments: list[str]) -> None:
    if importlib.util.find_spec("pip") is None:
        raise click.ClickException(
            f"there is no pip in {sys.prefix}; install the package with the tool that created this environment"
        )
    # pip's report is progress, not a result. -P: a pip.py in the current folder is not pip.
    done = subprocess.run([sys.executable, "-P", "-m", "pip", *arguments], stdout=sys.stderr, check=False)
    importlib.invalidate_caches()
    if done.returncode != 0:
        raise click.ClickException(f"pip failed with exit code {done.returncode}; see its output above")
