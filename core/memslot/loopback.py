"""Sockets for servers on the loopback interface."""

from __future__ import annotations

import socket
import sys

from memslot.errors import MemslotError

ADDRESS = "127.0.0.1"


def listen(port: int) -> socket.socket:
    """A socket on the loopback address; raises a MemslotError if the port is taken. 0 picks a free one."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # there it would let two servers share the port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((ADDRESS, port))
        found.listen(128)  # early connections wait instead of being refused
    except OSError as error:
        found.close()
        raise MemslotError(
            f"cannot listen on {ADDRESS}:{port} ({error.strerror or error}); choose another port with --port"
        ) from None
    return found
