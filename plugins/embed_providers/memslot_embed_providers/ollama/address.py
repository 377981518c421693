"""Where the Ollama server is, read as Ollama's own client reads it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

DEFAULT_PORT = 11434


def server_address(base_url: str | None, env: Mapping[str, str]) -> str:
    """The configured address, else OLLAMA_HOST (`host`, `host:port` or a URL), else this machine."""
    if base_url:
        return base_url.strip().rstrip("/")
    told = env.get("OLLAMA_HOST", "").strip().strip("\"'")
    if not told:
        return f"http://127.0.0.1:{DEFAULT_PORT}"
    bare = "://" not in told
    try:
        parts = urlsplit(f"http://{told}" if bare else told)
        host, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        return told  # refused later, when the provider is made
    if host in ("0.0.0.0", "::"):  # where a server listens, not where it can be reached
        host = "127.0.0.1"
    port = port or (DEFAULT_PORT if bare else None)
    place = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, f"{place}:{port}" if port else place, parts.path.rstrip("/"), "", ""))
