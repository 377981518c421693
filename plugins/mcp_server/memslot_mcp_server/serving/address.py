"""Where the server is found over HTTP; apart from the rest, so that a port that is taken is said at once."""

from __future__ import annotations

import socket
import sys

from memslot import MemslotError

ADDRESS = "127.0.0.1"
PATH = "/mcp"


def listen(port: int) -> socket.socket:
    """A socket on this machine's own address; raises a MemslotError where the port is taken."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # there it would let two servers share the port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((ADDRESS, port))
    except OSError as error:
        found.close()
        raise MemslotError(
            f"port {port} of {ADDRESS} cannot be used ({error.strerror or error}); name another with --port"
        ) from None
    return found
