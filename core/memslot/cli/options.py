"""Options that several commands have."""

from __future__ import annotations

import click

agent_option = click.option("--agent", metavar="ID", help="Agent to use (default: the default agent).")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
