"""Which model is asked, where, and how large its window is: options first, then the config, then the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from memslot.chat.failures import ChatSettingsError
from memslot.chat.service import Service

if TYPE_CHECKING:
    from memslot.config.model import Config

KEY_NAME = "OPENAI_API_KEY"
_HOW = """
  A service, with its key in OPENAI_API_KEY:
    memslot config set agents.defaults.baseUrl https://api.openai.com/v1
    memslot config set agents.defaults.model gpt-5-mini
  Ollama on this machine, without a key:
    memslot config set agents.defaults.baseUrl http://localhost:11434/v1
    memslot config set agents.defaults.model qwen3"""


@dataclass(frozen=True)
class ChatSettings:
    """What a chat needs to know of its model."""

    service: Service
    context_window: int


def chat_settings(
    config: Config, agent_id: str, env: Mapping[str, str], *, model: str | None = None, base_url: str | None = None
) -> ChatSettings:
    """The settings of an agent's chat; a ChatSettingsError says how to set what is missing."""
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
            "agents.defaults.baseUrl (or --base-url) is not an address that begins with http:// or https://; "
            "write it like https://api.openai.com/v1"
        )
    key = _first(defaults.api_key, env.get(KEY_NAME))
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise ChatSettingsError(
            f"The key in agents.defaults.apiKey or {KEY_NAME} holds a space or a letter that no key has; copy it again"
        )
    return ChatSettings(Service(address, chosen, key or None), defaults.context_window)


def _first(*values: str | None) -> str:
    return next((value.strip() for value in values if value and value.strip()), "")
