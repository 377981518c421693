"""The `memslot` command."""

from __future__ import annotations


def main() -> None:
    """Run the command line; the process ends with 0, 1 (failure) or 2 (wrong usage)."""
    import io
    import os
    import sys

    # Threads of OpenBLAS spin while they wait, which doubles the CPU time of a search; our products are small.
    if "OMP_NUM_THREADS" not in os.environ:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its code, not a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        from memslot.cli import plugin_commands
        from memslot.cli.app import app
        from memslot.errors import MemslotError
    except KeyboardInterrupt:
        sys.exit("\nAborted!")

    try:
        app.main(prog_name="memslot", color=False if os.environ.get("NO_COLOR") else None)
    except SystemExit as end:
        if "memslot.agent.at_exit" in sys.modules and isinstance(end.code, int):
            from memslot.agent.at_exit import exit_past_threads

            exit_past_threads(end.code)
        raise
    except Exception as error:
        owner = plugin_commands.running
        if owner is None and isinstance(error, OSError) and _is_full_output(error):
            error = MemslotError(f"the output cannot be written: {error.strerror}")
        if not isinstance(error, MemslotError) and (owner is None or os.environ.get("MEMSLOT_TRACE_PLUGINS") == "1"):
            raise  # our bug, or a plugin author is debugging
        from memslot.cli.output import say_error
        from memslot.diagnostics import describe_error

        is_ours = isinstance(error, MemslotError)
        say_error(str(error) if is_ours else f"the plugin {owner} failed: {describe_error(error)}")
        sys.exit(1)


def _is_full_output(error: OSError) -> bool:
    """Whether writing to stdout failed; if so, drop its buffer, which Python would try to write again at exit."""
    import errno
    import os
    import sys

    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO) or error.filename is not None:
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True
