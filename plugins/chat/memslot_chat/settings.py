"""Model, address, key and context window: from the options, then the config, then the environment."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from memslot import SecretMask

from memslot_chat.errors import ChatSettingsError

if TYPE_CHECKING:
    from memslot import Config

KEY_NAME = "OPENAI_API_KEY"
_HOW = """
  A service, with its key in OPENAI_API_KEY:
    memslot config set agents.defaults.baseUrl https://api.openai.com/v1
    memslot config set agents.defaults.model gpt-5-mini
  Ollama on this machine, without a key:
    memslot config set agents.defaults.baseUrl http://localhost:11434/v1
    memslot config set agents.defaults.model qwen3"""
_PATH = "/chat/completions"


@dataclass(frozen=True)
class Service:
    """An OpenAI-compatible chat API; its string form, used in messages, contains no secrets."""

    base_url: str = field(repr=False)
    model: str
    key: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"the chat endpoint at {self.address}"

    @property
    def address(self) -> str:
        """The base URL without secrets."""
        parts = urlsplit(self.base_url)
        host = parts.hostname or ""
        place = f"[{host}]" if ":" in host else host
        return urlunsplit((parts.scheme, f"{place}:{parts.port}" if parts.port else place, parts.path, "", ""))

    @property
    def chat_url(self) -> str:
        """The request URL; a query in the base URL, such as an API version, stays at the end."""
        parts = urlsplit(self.base_url)
        path = parts.path.rstrip("/")
        return urlunsplit(parts._replace(path=path if path.endswith(_PATH) else path + _PATH, fragment=""))

    @property
    def is_local(self) -> bool:
        """Whether it is this machine, which needs no proxy."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    def hide(self, text: str) -> str:
        """Mask the key, longer pieces of it and anything else that looks like one."""
        return SecretMask([self.key or "", unquote(urlsplit(self.base_url).password or "")])(text)


@dataclass(frozen=True)
class ChatSettings:
    """The model settings of a chat."""

    service: Service
    context_window: int


def chat_settings(
    config: Config, agent_id: str, env: Mapping[str, str], *, model: str | None = None, base_url: str | None = None
) -> ChatSettings:
    """Return an agent's chat settings. Raises ChatSettingsError, which says how to set what is missing."""
    defaults, agent = config.agents.defaults, config.agent(agent_id)
    chosen = _first(model, agent.model if agent else None, defaults.model)
    address = _first(base_url, defaults.base_url).rstrip("/")
    missing = [name for name, value in (("model", chosen), ("base URL", address)) if not value]
    if missing:
        raise ChatSettingsError(f"No {' and no '.join(missing)} of a chat endpoint is configured; set it with{_HOW}")
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_address = False
    if not is_address:
        raise ChatSettingsError(
            "agents.defaults.baseUrl (or --base-url) must start with http:// or https://; "
            "write it like https://api.openai.com/v1"
        )
    key = _first(defaults.api_key, env.get(KEY_NAME))
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise ChatSettingsError(
            f"The key in agents.defaults.apiKey or {KEY_NAME} contains a space or an invalid character; copy it again"
        )
    return ChatSettings(Service(address, chosen, key or None), defaults.context_window)


def _first(*values: str | None) -> str:
    return next((value.strip() for value in values if value and value.strip()), "")
