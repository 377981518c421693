"""A remote service: its address, key and headers, and masking of its secrets."""

from __future__ import annotations

import importlib.util
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit, urlunsplit

from memslot import ProviderError, ProviderOptions, ProviderRefusedError, SecretMask, extra_install_command

_AUTH_WORDS = ("auth", "key", "token", "secret", "cookie")
_NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~")


@dataclass(frozen=True)
class Service:
    """A remote API; its string form, used in errors, contains no secrets."""

    name: str
    base_url: str = field(repr=False)
    address: str
    key: str | None = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    hide: SecretMask = field(repr=False)
    key_hint: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"{self.name} at {self.address}"


def describe_service(
    options: ProviderOptions, *, name: str, default_url: str, key_names: tuple[str, ...] = ()
) -> Service:
    """Read address, key and headers from the options; invalid ones are refused without being quoted."""
    base_url = (options.base_url or default_url).strip().rstrip("/")
    shown, password = _showable(base_url, name)
    key = find_key(options, key_names)
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise ProviderRefusedError(f"the key for {name} contains invalid characters; check {key_names}")
    for header, value in options.headers.items():
        if not header or not set(header) <= _NAME_LETTERS or not (value.isascii() and value.isprintable()):
            raise ProviderError(f"the header {header!r} in remote.headers cannot be sent; use plain letters")
    hidden = [value for header, value in options.headers.items() if is_secret_header(header)]
    hidden += [value.split()[-1] for value in hidden if value.split()]
    hint = f"check {' or '.join(key_names)}, or memorySearch.remote.apiKey" if key_names else ""
    return Service(name, base_url, shown, key, dict(options.headers), SecretMask([key or "", password, *hidden]), hint)


def find_key(options: ProviderOptions, names: tuple[str, ...]) -> str | None:
    """The configured key, else the first of these environment variables that is set."""
    candidates = [options.api_key, *(options.env.get(name) for name in names)]
    return next((key.strip() for key in candidates if key and key.strip()), None)


def missing_key(options: ProviderOptions, names: tuple[str, ...]) -> str | None:
    """The message for a missing key, or None."""
    if find_key(options, names) is not None:
        return None
    return f"it needs a key: set {' or '.join(names)}, or memorySearch.remote.apiKey"


def missing_package(extra: str) -> str | None:
    """The message for a missing httpx2, or None; imports nothing."""
    if importlib.util.find_spec("httpx2") is not None:
        return None
    return f"the package httpx2 is not installed; get it with: {extra_install_command(extra)}"


def is_secret_header(name: str) -> bool:
    return any(word in name.lower() for word in _AUTH_WORDS)


def is_loopback(url: str) -> bool:
    """Whether an address is this machine."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _showable(url: str, name: str) -> tuple[str, str]:
    """The address without secrets, and the password it contained."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in ("http", "https"):
        raise ProviderError(f"the address for {name} in remote.baseUrl must start with http:// or https://")
    host = f"[{host}]" if ":" in host else host
    place = f"{host}:{port}" if port else host
    return urlunsplit((parts.scheme, place, parts.path, "", "")), unquote(parts.password or "")
