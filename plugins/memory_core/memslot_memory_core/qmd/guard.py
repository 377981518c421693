"""Runs one program and ends it, with all its children, when whoever started this goes away.

Started as a script of its own. Standard input is a pipe whose other end the parent holds: it closes however the
parent ends, even by `kill -9`. Imports next to nothing, since it starts with every search.
"""

import _thread
import os
import sys

CANNOT_START = 127
SIGKILL = 9  # importing `signal` for it would double the time that this takes to start


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os.killpg(0, SIGKILL)


def main(command: list[str]) -> int:
    """Run it without input; give its exit code, 128 and the number for a signal."""
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
