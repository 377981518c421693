"""`memslot doctor` and `memslot plugins doctor`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from memslot.cli.options import json_option
from memslot.cli.output import clean, counted, print_json, results_apart, silence_log
from memslot.doctor import Finding, examine, examine_plugins

_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "red")}


@click.command("doctor")
@json_option
def command(as_json: bool) -> None:
    """Check the setup: what is wrong and how to fix it.

    Checks the config, the folders, the plugins, the memory slot and the embedding provider. Exits with
    1 if something is wrong.

    \b
    Examples:
      memslot doctor
      memslot doctor --json | jq '.findings[] | select(.level != "ok")'
    """
    silence_log()
    with results_apart():
        findings = examine()
    _report(findings, as_json)


@click.command("doctor")
@json_option
def plugins_doctor(as_json: bool) -> None:
    """Load every enabled plugin and report problems.

    \b
    Examples:
      memslot plugins doctor
    """
    silence_log()
    with results_apart():
        findings = examine_plugins()
    _report(findings, as_json)


def _report(findings: Sequence[Finding], as_json: bool) -> None:
    healthy = all(finding.level != "problem" for finding in findings)
    if as_json:
        rows = [{"level": f.level, "about": f.about, "message": f.message, "action": f.action} for f in findings]
        print_json({"healthy": healthy, "findings": rows})
    else:
        for finding in findings:
            mark, colour = _MARKS[finding.level]
            click.echo(click.style(mark, fg=colour) + f" {finding.about}: {clean(finding.message)}")
            if finding.action:
                click.echo(f"    → {clean(finding.action)}")
        wrong = sum(finding.level == "problem" for finding in findings)
        click.echo("\nNo problems found." if healthy else f"\n{counted(wrong, 'problem')}.")
    if not healthy:
        raise click.exceptions.Exit(1)
