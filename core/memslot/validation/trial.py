"""Loads a plugin in a subprocess and reports the result: a plugin under test may crash, hang or exit.

The child runs as `python -m memslot.validation.trial ORDER ANSWER`, two JSON files. The parent side is `run_trial`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from memslot.plugins.discovery import GROUP
from memslot.text import one_line
from memslot.validation.files import Loadable, import_root
from memslot.validation.report import Check, Report
from memslot.validation.target import Target

TIMEOUT_SECONDS = 60.0


def run_trial(report: Report, target: Target, plugin: Loadable, settings: dict[str, Any]) -> None:
    """Run a trial and add its checks to the report."""
    with tempfile.TemporaryDirectory(prefix="memslot-trial-") as name:
        folder = Path(name)
        order: dict[str, Any] = {"id": report.plugin_id, "kind": plugin.kind, "settings": settings, "path": []}
        if target.installed_id is None:
            _write_dist_info(folder / "site", target, report.plugin_id, plugin.entry)
            order["path"] = [str(import_root(target.folder)), str(folder / "site")]
        (folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
        arguments = [str(folder / "order.json"), str(folder / "answer.json")]
        # -P: modules in the current folder must not shadow real ones.
        command = [sys.executable, "-P", "-m", "memslot.validation.trial", *arguments]
        env = {key: value for key, value in os.environ.items() if not key.startswith("MEMSLOT_")}
        try:
            done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_SECONDS, env=env, check=False)
        except subprocess.TimeoutExpired:
            report.bad("load", f"loading it took longer than {TIMEOUT_SECONDS:g} s")
            return
        try:
            answer = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            last_line = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            report.bad("load", one_line(f"loading it exited with code {done.returncode}: {' '.join(last_line)}"))
            return
    report.checks += [Check(check["name"], check["level"], check["message"]) for check in answer]


def _write_dist_info(site: Path, target: Target, plugin_id: str, entry: str) -> None:
    """Write the metadata pip would, so the host discovers the plugin as installed."""
    # The project's own name, so it takes precedence over an installed copy.
    name = target.project.name if target.project is not None and target.project.name else target.folder.name
    metadata = site / f"{name.replace('-', '_')}-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{plugin_id} = {entry}\n", encoding="utf-8")


def main() -> None:
    """Run the trial in the child process."""
    order_file, answer_file = (Path(argument) for argument in sys.argv[1:3])
    order = json.loads(order_file.read_text(encoding="utf-8"))
    sys.path[:0] = order["path"]

    from memslot.storage.atomic import write_file
    from memslot.validation.behaviour import check_behaviour

    home = order_file.with_name("home")
    home.mkdir(mode=0o700)
    checks = check_behaviour(order["id"], order["kind"], order["settings"], home)
    answer = [check.to_json() for check in checks]
    write_file(answer_file, json.dumps(answer), durable=False)
    # Threads started by the plugin must not keep this process alive.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
