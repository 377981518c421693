"""A key gets to its server and nowhere else."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest
from memslot import Host, ProviderError, ProviderOptions, ProviderRefusedError

NAMES = {"openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY", "voyage": "VOYAGE_API_KEY"}
REMOTE = [*NAMES, "ollama"]


def _sent_key(seen: Any) -> str:
    return str(seen.headers.get("x-goog-api-key") or seen.headers["authorization"].removeprefix("Bearer "))


def _config(name: str, url: str, **remote: Any) -> dict[str, Any]:
    settings = {"provider": name, "dimensions": 64, "remote": {"baseUrl": url, **remote}}
    return {"agents": {"defaults": {"memorySearch": settings}}}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("where", ["config", "reference", "environment"])
def test_the_key_is_found(name: str, where: str, wire: Any, key: str, tmp_path: Path) -> None:
    server = wire(name)
    server.key = key
    remote = {"config": {"apiKey": key}, "reference": {"apiKey": "${MY_OWN}"}, "environment": {}}[where]
    env = {"config": {}, "reference": {"MY_OWN": key}, "environment": {NAMES[name]: f"  {key}\n"}}[where]
    with Host.load(_config(name, server.url, **remote), home=tmp_path, env=env) as host:
        selection = host.select_embedder()
        assert selection.provider is not None, selection.reason
        selection.provider.embed_query("q")
    assert _sent_key(server.seen[-1]) == key


@pytest.mark.parametrize("name", NAMES)
def test_the_config_comes_before_the_environment(name: str, wire: Any, make: Any, key: str) -> None:
    server = wire(name)
    make(name, base_url=server.url, env={NAMES[name]: "another-key"}).embed_query("q")
    assert _sent_key(server.seen[0]) == key


@pytest.mark.parametrize("name", REMOTE)
def test_a_header_of_one_s_own_wins_and_is_sent_once(name: str, wire: Any, make: Any) -> None:
    server = wire(name)
    header = "X-GOOG-api-key" if name == "gemini" else "authorization"
    make(name, base_url=server.url, headers={header: "Bearer my-gateway"}).embed_query("q")
    assert server.seen[0].headers[header.lower()] == "Bearer my-gateway"
    assert server.seen[0].times(header) == 1


@pytest.mark.parametrize("name", REMOTE)
def test_no_text_form_shows_the_key(name: str, make: Any, key: str) -> None:
    headers = {"X-Gateway-Token": "gateway-secret-123", "X-Team": "orchid"}
    url = "https://somebody:pass-word-99@example.org/v1?token=query-secret-1"
    options = ProviderOptions(api_key=key, headers=headers, env={"OPENAI_API_KEY": key})
    provider = make(name, base_url=url, headers=headers)
    told = f"{provider!r} {provider} {provider.service!r} {provider.service} {provider.key} {options!r}"
    told += repr(provider.service.hide) + repr(vars(provider)["service"])
    for secret in (key, "gateway-secret-123", "pass-word-99", "query-secret-1"):
        assert secret not in told
    assert "example.org" in repr(provider)


@pytest.mark.parametrize("name", REMOTE)
def test_the_provider_key_knows_no_secret(name: str, make: Any) -> None:
    url = "https://example.org/v1"
    one = make(name, base_url=url, api_key="first-key-1", headers={"X-Token": "a"})
    other = make(name, base_url=url, api_key="second-key-2", headers={"X-Token": "b"})
    assert one.key == other.key
    assert one.key != make(name, base_url=url, headers={"X-Team": "orchid"}).key
    assert one.key != make(name, base_url="https://example.com/v1").key
    assert one.key != make(name, base_url=url, dimensions=32).key


@pytest.mark.parametrize("name", REMOTE)
def test_nothing_is_logged_that_holds_the_key(
    name: str, wire: Any, make: Any, key: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    server = wire(name)
    provider = make(name, base_url=server.url, headers={"X-Gateway-Token": "gateway-secret-123"})
    provider.embed_documents(["one"])
    server.fail("401-echo")
    with pytest.raises(ProviderError):
        provider.embed_documents(["one"])
    out, err = capfd.readouterr()
    told = caplog.text + out + err + "".join(str(vars(record)) for record in caplog.records)
    assert caplog.records, "the clients log something, or this test looks at nothing"
    assert key not in told
    assert "gateway-secret-123" not in told


@pytest.mark.parametrize(
    "bad", ["sk-ключ-1234567890", "sk-new\nline-1234567890", "sk-with space-123456", "sk-\x00-123456789"]
)
@pytest.mark.parametrize("name", REMOTE)
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(name: str, bad: str, make: Any) -> None:
    with pytest.raises(ProviderRefusedError) as caught:
        make(name, api_key=bad)
    assert bad not in "".join(traceback.format_exception(caught.value)) + repr(caught.value)


@pytest.mark.parametrize(
    "header", [{"X-Token": "ключ-secret"}, {"X-Token": "secret\r\nX-Evil: 1"}, {"Bad Name": "secret"}]
)
@pytest.mark.parametrize("name", REMOTE)
def test_a_header_that_cannot_be_sent_is_refused_without_being_shown(
    name: str, header: dict[str, str], make: Any
) -> None:
    with pytest.raises(ProviderError, match="cannot be sent") as caught:
        make(name, headers=header)
    assert "secret" not in "".join(traceback.format_exception_only(caught.value))


# The command line

ASKING = [["embed", "providers", "--json"], ["embed", "probe"], ["embed", "text", "hello"]]
OTHERS = [
    ["doctor"],
    ["doctor", "--json"],
    ["plugins", "list", "--json"],
    ["plugins", "info", "embed-openai"],
    ["config", "get"],
    ["config", "get", "agents"],
    ["config", "validate"],
    ["run", "what did we decide?"],
    ["embed", "providers"],
    ["embed", "probe", "--json"],
    ["memory", "status"],
]


@pytest.mark.parametrize(("name", "commands"), [("openai", ASKING + OTHERS), ("gemini", ASKING), ("voyage", ASKING)])
def test_no_command_prints_a_key(name: str, commands: list[list[str]], wire: Any, key: str, tmp_path: Path) -> None:
    server = wire(name)
    server.fail("401-echo")
    settings = _config(name, server.url, apiKey=key, headers={"X-Gateway-Token": "gateway-secret-123"})
    (tmp_path / "memslot.json5").write_text(json.dumps(settings), encoding="utf-8")
    kept = {variable: value for variable, value in os.environ.items() if not variable.startswith("MEMSLOT_")}
    in_env = {variable: f"env-key-of-{i}-0123456789" for i, variable in enumerate(NAMES.values())}
    env = {**kept, **in_env, "MEMSLOT_HOME": str(tmp_path), "MEMSLOT_TRACE_PLUGINS": "1", "OPENAI_LOG": "debug"}

    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "memslot", *command],
            env=env,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for command in commands
    ]
    printed = [process.communicate(timeout=120)[0] for process in processes]

    secrets = [key, key[3:], "gateway-secret-123", *in_env.values()]
    found = zip(commands, printed, strict=True)
    assert [command for command, text in found if any(secret in text for secret in secrets)] == []
    assert all(printed), "a command that prints nothing tests nothing"
    assert server.seen, "no command asked the server, so none had anything to tell"
