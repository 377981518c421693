"""Without its framework an adapter says what to install, and no adapter needs another's framework."""

from __future__ import annotations

import subprocess
import sys

import pytest
from memslot import extra_install_command

ADAPTERS = {
    "openai_agents": ("openai-agents", "agents"),
    "pydantic_ai": ("pydantic-ai", "pydantic_ai"),
    "langgraph": ("langgraph", "langgraph"),
    "claude_agent": ("claude-agent", "claude_agent_sdk"),
}
FRAMEWORKS = {"agents", "pydantic_ai", "langgraph", "langchain_core", "claude_agent_sdk"}
HIDE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
import memslot_adapters.{adapter}
print(sorted(name for name in sys.modules if name in {frameworks!r}))
"""


def load(adapter: str, hidden: set[str]) -> subprocess.CompletedProcess[str]:
    code = HIDE.format(adapter=adapter, hidden=hidden, frameworks=FRAMEWORKS)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("adapter", sorted(ADAPTERS))
def test_a_missing_framework_is_one_sentence_with_the_command(adapter: str) -> None:
    extra, module = ADAPTERS[adapter]
    done = load(adapter, {module})

    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == (
        f"ImportError: this adapter needs {module}, which cannot be imported (No module named {module!r}); "
        f"install it with: {extra_install_command(extra)}"
    )


def test_hermes_is_named_and_not_only_its_module() -> None:
    done = load("hermes", {"agent"})

    said = done.stderr.strip().splitlines()[-1]
    assert said.startswith("ImportError: this adapter needs hermes_agent, which cannot be imported")
    assert said.endswith(extra_install_command("hermes"))


@pytest.mark.parametrize("adapter", sorted(ADAPTERS))
def test_the_others_frameworks_need_not_be_there(adapter: str) -> None:
    own = {ADAPTERS[adapter][1]} | ({"langchain_core"} if adapter == "langgraph" else set())
    done = load(adapter, FRAMEWORKS - own)

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(sorted(own))


def test_another_package_of_that_name_is_named_in_the_sentence() -> None:
    code = (
        "import sys, types; sys.modules['agents'] = types.ModuleType('agents'); import memslot_adapters.openai_agents"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "cannot import name" in done.stderr
    assert extra_install_command("openai-agents") in done.stderr.splitlines()[-1]


def test_a_fault_that_is_no_missing_framework_stays_as_it_is() -> None:
    done = load("langgraph", {"filelock", "memslot"})

    assert "ModuleNotFoundError: No module named 'memslot'" in done.stderr
    assert "pip install" not in done.stderr
