"""Runs one program and kills it, with all its children, when the parent process ends.

Runs as a script. Standard input is a pipe from the parent, which closes however the parent ends, even by `kill -9`. It
imports almost nothing, since it starts with every search.
"""

import _thread
import os
import sys

CANNOT_START = 127
SIGKILL = 9  # importing `signal` would double the startup time


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os.killpg(0, SIGKILL)


def main(command: list[str]) -> int:
    """Run the program without input; returns its exit code, 128 + N for signal N."""
    _thread.start_new_thread(_end_with_parent, ())
    no_input = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    try:
        child = os.posix_spawn(command[0], command, os.environ, file_actions=no_input)
    except OSError as error:
        os.write(2, f"cannot start: {error.strerror}\n".encode())
        return CANNOT_START
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
