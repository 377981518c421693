"""Options come before the config, the config before the environment; keys are never shown."""

from __future__ import annotations

from typing import Any

import pytest
from memslot.plugins.config_loader import parse_config
from memslot_chat.errors import ChatSettingsError
from memslot_chat.settings import ChatSettings, Service, chat_settings

URL = "https://api.example/v1"


def settings(
    defaults: dict[str, Any], agents: Any = (), agent: str = "main", env: Any = None, **told: Any
) -> ChatSettings:
    tree = {"agents": {"defaults": defaults, "list": list(agents)}}
    return chat_settings(parse_config(tree, env={}).config, agent, env or {}, **told)


def test_options_win_then_the_agent_then_the_defaults() -> None:
    defaults = {"model": "a", "baseUrl": URL + "/", "contextWindow": 9000}
    agents = [{"id": "work", "model": "b"}]

    assert settings(defaults, agents).service == Service(URL, "a")
    assert settings(defaults, agents, "work").service.model == "b"
    assert settings(defaults, agents, "work", model="c", base_url="http://x").service == Service("http://x", "c")
    assert settings(defaults).context_window == 9000


def test_the_key_of_the_config_comes_before_the_environment() -> None:
    defaults = {"model": "a", "baseUrl": URL}
    env = {"OPENAI_API_KEY": " from-env "}

    assert settings(defaults).service.key is None
    assert settings(defaults, env=env).service.key == "from-env"
    assert settings({**defaults, "apiKey": "from-config"}, env=env).service.key == "from-config"


@pytest.mark.parametrize(
    ("defaults", "missing"),
    [({}, "No model and no base URL"), ({"model": "a"}, "No base URL"), ({"baseUrl": URL}, "No model")],
)
def test_what_is_missing_is_said_with_the_commands_that_set_it(defaults: dict[str, Any], missing: str) -> None:
    with pytest.raises(ChatSettingsError, match=missing) as caught:
        settings(defaults)

    assert "memslot config set agents.defaults.baseUrl http" in str(caught.value)
    assert "memslot config set agents.defaults.model " in str(caught.value)


@pytest.mark.parametrize("url", ["api.example", "ftp://x", "http://", "http://x:port", "http://[", "file:///etc"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ChatSettingsError, match="must start with http"):
        settings({"model": "a", "baseUrl": url})


def test_a_key_that_cannot_be_sent_is_refused_and_not_repeated() -> None:
    with pytest.raises(ChatSettingsError, match="copy it again") as caught:
        settings({"model": "a", "baseUrl": URL, "apiKey": "sk-geheim\nzwei"})

    assert "geheim" not in str(caught.value)


def test_addresses() -> None:
    service = Service("https://me:s3cretpass@api.example:8443/v1?api-version=2", "m", "sk-abcdefgh12345678")

    assert service.chat_url == "https://me:s3cretpass@api.example:8443/v1/chat/completions?api-version=2"
    assert str(service) == "the chat endpoint at https://api.example:8443/v1"
    assert Service("http://h/v1/chat/completions", "m").chat_url == "http://h/v1/chat/completions"
    assert [Service(url, "m").is_local for url in ("http://localhost:1", "http://127.0.0.1", "http://[::1]:2/v1")] == [
        True,
        True,
        True,
    ]
    assert not Service("http://192.168.1.2", "m").is_local


def test_keys_and_pieces_of_them_are_hidden() -> None:
    service = Service("https://me:s3cretpass@api.example/v1", "m", "qwertyuiop-asdfghjkl")

    for leak in ("qwertyuiop-asdfghjkl", "qwertyui…", "bad key: uiop-asdf***", "pass s3cretpass"):
        hidden = service.hide(f"said {leak} here")
        assert "***" in hidden
        assert "qwertyui" not in hidden
        assert "uiop-asdf" not in hidden
        assert "s3cretpass" not in hidden
    assert service.hide("nothing of it") == "nothing of it"
    assert "qwerty" not in repr(service)
    assert "s3cret" not in repr(service)
