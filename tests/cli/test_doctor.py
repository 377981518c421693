"""`memslot doctor` on broken configs: every fault once, and the advice mends it."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest


def findings(memslot: Any, *, level: str = "problem") -> list[dict[str, Any]]:
    done = memslot("doctor", "--json")
    assert "Traceback" not in done.stderr
    return [finding for finding in json.loads(done.stdout)["findings"] if finding["level"] == level]


def search(**settings: Any) -> dict[str, Any]:
    return {"agents": {"defaults": {"memorySearch": settings}}}


BROKEN: dict[str, tuple[dict[str, Any], int]] = {
    "unknown provider": (search(provider="opnai"), 1),
    "unknown fallback": (search(fallback="opnai"), 1),
    "provider of an agent": ({"agents": {"list": [{"id": "a", "memorySearch": {"provider": "zzz"}}]}}, 1),
    "provider without a key": (search(provider="openai"), 1),
    "provider of a plugin that is off": ({"plugins": {"deny": ["embed-voyage"]}, **search(provider="voyage")}, 1),
    "provider in a plugin's settings": (
        {
            "plugins": {
                "slots": {"memory": "memory-lancedb"},
                "entries": {"memory-lancedb": {"config": {"embedding": {"provider": "opnai"}, "dbPath": "db"}}},
            }
        },
        1,
    ),
    "unknown slot owner": ({"plugins": {"slots": {"memory": "memory-cor"}}}, 1),
    "slot owner of another kind": ({"plugins": {"slots": {"memory": "embed-openai"}}}, 1),
    "misspelt memory of several": ({"plugins": {"slots": {"memory": ["memory-core", "memory-lancdb"]}}}, 1),
    "memory of several that is denied": (
        {"plugins": {"slots": {"memory": ["memory-lancedb", "memory-core"]}, "deny": ["memory-lancedb"]}},
        1,
    ),
    "no memory beside another": ({"plugins": {"slots": {"memory": ["memory-core", "none"]}}}, 1),
    "all of several denied": (
        {
            "plugins": {
                "slots": {"memory": ["memory-core", "memory-lancedb"]},
                "deny": ["memory-lancedb", "memory-core"],
            }
        },
        2,
    ),
    "slot owner that is denied": ({"plugins": {"deny": ["memory-core"]}}, 1),
    "all plugins off": ({"plugins": {"enabled": False}}, 1),
    "setting that a plugin does not have": ({"plugins": {"entries": {"memory-core": {"config": {"x": 1, "y": 2}}}}}, 2),
    "folders that are not there": ({"plugins": {"load": {"paths": ["none", "/no/where"]}}}, 2),
    "variable that is not set": ({"agents": {"defaults": {"apiKey": "${NOT_SET_ANYWHERE}"}}}, 1),
    "faults of every sort": (
        {
            "plugins": {"slot": {}, "slots": {"memory": "memory-cor"}, "entries": {"memory-core": {"enabeld": True}}},
            "memory": {"backend": "x"},
            **search(provider="opnai"),
        },
        5,
    ),
}


@pytest.mark.parametrize(
    "config",
    [
        search(provider="static", dimensions=128),
        search(provider="openai", fallback="static"),
        {
            "plugins": {
                "slots": {"memory": "memory-lancedb"},
                "entries": {"memory-lancedb": {"config": {"embedding": {"provider": "static"}, "dbPath": "db"}}},
            }
        },
    ],
    ids=["provider", "fallback", "plugin's setting"],
)
def test_a_provider_that_is_gone_is_a_warning_with_the_one_that_is_used(memslot: Any, config: dict[str, Any]) -> None:
    memslot.write_config(config)
    (warning,) = [each for each in findings(memslot, level="warning") if "static" in each["message"]]
    assert warning["message"].endswith('is "static", which was removed; universal is used instead')
    memslot.ok(*shlex.split(warning["action"])[1:])
    assert not [each for each in findings(memslot, level="warning") if "static" in each["message"]]


QUICK = ("faults of every sort", "folders that are not there", "provider in a plugin's settings")


@pytest.mark.parametrize(
    ("config", "count"),
    [pytest.param(*case, id=name, marks=() if name in QUICK else pytest.mark.slow) for name, case in BROKEN.items()],
)
def test_every_fault_is_told_once_and_its_advice_mends_it(memslot: Any, config: dict[str, Any], count: int) -> None:
    memslot.ok("init")
    memslot.write_config(config)
    found = findings(memslot)
    assert len(found) == count, found
    for finding in found:
        command = finding["action"].rpartition("or: ")[2]
        program, *arguments = shlex.split(command)
        assert program == "memslot", finding
        memslot.ok(*arguments)
    left = findings(memslot)
    # A provider's name that is right now may still want its key; nothing else is left.
    assert [each["message"] for each in left if "needs a key" not in each["message"]] == []


def test_names_of_plugins_that_are_not_installed_are_mended_one_after_the_other(memslot: Any) -> None:
    memslot.ok("init")
    config = {"plugins": {"deny": ["zzzz", "qqqq", "embed-opnai"], "entries": {"nowhere": {}}}}
    memslot.write_config(config)
    found = findings(memslot, level="warning")
    assert len(found) == 4
    for finding in found:
        memslot.ok(*shlex.split(finding["action"])[1:])
    assert findings(memslot, level="warning") == []
    assert memslot.json("config", "get", "plugins.deny") == ["embed-openai"]


def test_a_projects_fault_is_mended_in_the_project(memslot: Any) -> None:
    memslot.ok("init")
    memslot.ok("config", "set", "--project", "agents.defaults.memorySearch.provider", "opnai")
    (finding,) = findings(memslot)
    assert finding["action"].endswith("--project")
    memslot.ok(*shlex.split(finding["action"])[1:])
    assert memslot.json("config", "get", "agents.defaults.memorySearch.provider") == "openai"


def test_the_memory_is_told_in_words_that_people_know(memslot: Any) -> None:
    memslot.ok("init")
    memslot.ok("memory", "index")
    (told,) = [each for each in findings(memslot, level="ok") if each["about"] == "memory"]
    assert "files: 1" in told["message"]
    for internal in ("withoutDirection", "turnWords", "turns"):
        assert internal not in told["message"]


def test_what_is_wrong_is_not_also_reported_as_fine(memslot: Any) -> None:
    memslot.ok("init")
    memslot.write_config({"plugins": {"slots": {"memory": "memory-cor"}, "enabld": True}})
    fine = {finding["about"] for finding in findings(memslot, level="ok")}
    assert not fine & {"config", "memory"}


def test_a_missing_workspace_is_one_problem_and_none_once_init_has_made_it(memslot: Any) -> None:
    memslot.ok("search", "release")  # indexes nothing, and notes why
    (problem,) = findings(memslot)
    assert (problem["about"], problem["action"]) == ("memory", "memslot init")
    memslot.ok("init")
    assert findings(memslot) == []


def test_a_search_of_an_empty_memory_says_how_to_fill_it(memslot: Any) -> None:
    memslot.ok("init")
    done = memslot("search", "release")
    assert "the memory is empty" in done.stderr
    assert "memslot remember" in done.stderr
