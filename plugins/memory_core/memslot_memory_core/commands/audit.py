"""`memslot memory audit`."""

from __future__ import annotations

import click
from memslot import PluginContext, print_json, print_table, say_done

from memslot_memory_core.audit.findings import KINDS, AuditReport, Finding
from memslot_memory_core.search_output import pluralize
from memslot_memory_core.settings import search_settings

_MAX_OTHERS = 3


def make_audit_command(ctx: PluginContext) -> click.Command:
    @click.command()
    @click.option(
        "--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="Report only this kind; may be repeated."
    )
    @click.option(
        "--stale-days",
        type=click.IntRange(0, 36_500),
        default=180,
        show_default=True,
        help="Days after which open tasks in a daily note count as stale.",
    )
    @click.option("--strict", is_flag=True, help="Exit with 1 if anything was found.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def audit(kinds: tuple[str, ...], stale_days: int, strict: bool, as_json: bool) -> None:
        """Check the notes for duplicates, secrets and stale tasks.

        Also reports files that can't be indexed. Changes nothing. Secrets are shown redacted.

        \b
        Examples:
          memslot memory audit
          memslot memory audit --kind secret --kind recalled --strict
          memslot memory audit --json | jq -r '.findings[] | [.kind, .path, .startLine] | @tsv'
        """
        from memslot_memory_core.audit.scan import audit as check_health

        report = check_health(
            ctx.workspace, search_settings(ctx).extra_paths, kinds=kinds or KINDS, stale_days=stale_days
        )
        if as_json:
            print_json({"workspace": str(ctx.workspace), "staleDays": stale_days, **report.to_json()})
        else:
            _print(report)
        if strict and report.findings:
            raise click.exceptions.Exit(1)

    return audit


def _print(report: AuditReport) -> None:
    checked = f"{pluralize(report.files, 'note')} with {pluralize(report.passages, 'passage')}"
    if not report.findings:
        say_done(f"no findings in {checked}")
        return
    print_table(("kind", "where", "excerpt", "what to do"), map(_row, report.findings))
    counts = ", ".join(f"{count} {kind}" for kind, count in report.counts.items() if count)
    click.echo(f"{counts}; checked {checked}", err=True)


def _row(finding: Finding) -> tuple[str, str, str, str]:
    places = [finding.spot, *finding.others]
    shown = ", ".join(spot.citation for spot in places[: _MAX_OTHERS + 1])
    more = len(places) - _MAX_OTHERS - 1
    return finding.kind, f"{shown} and {more} more" if more > 0 else shown, finding.excerpt, finding.action
