"""What an agent gets for a prompt, as `memslot run` shows it, and what changes without one of its memories."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from memslot import ChatType, Host, count_tokens

from memslot_inspector.markup import NOTHING, Markup, h, join
from memslot_inspector.pages.diff import diff
from memslot_inspector.pages.layout import badge, empty, notice
from memslot_inspector.visit import Page, Visit

if TYPE_CHECKING:
    from memslot import Tool

CHAT_TYPES: tuple[ChatType, ...] = get_args(ChatType)


@dataclass(frozen=True)
class Given:
    """What one run is given."""

    system_prompt: str
    context: str
    prompt: str
    tools: Sequence[Tool]
    problems: Sequence[str] = ()

    @property
    def tokens(self) -> dict[str, int]:
        """About how many tokens each part takes."""
        schemas = "\n".join(json.dumps(tool.to_mcp(), ensure_ascii=False) for tool in self.tools)
        parts = {"system prompt": self.system_prompt, "recalled": self.context, "prompt": self.prompt, "tools": schemas}
        return {name: count_tokens((), text) if text else 0 for name, text in parts.items()}


def show(visit: Visit) -> Page:
    prompt = visit.get("prompt").strip()
    part = h("div", _answer(visit, prompt) if prompt else NOTHING, id="given", class_="stack")
    lead = h(
        "p", "Type a prompt to see all that the model would see before it answers. No model is called.", class_="quiet"
    )
    return Page("What an agent gets", join([lead, _form(visit, prompt), part]), part)


def _form(visit: Visit, prompt: str) -> Markup:
    host, without = visit.host, set(visit.values.get("without", ()))
    chat, agent = visit.get("chat", CHAT_TYPES[0]), visit.get("agent", host.agent_id)
    agents = host.config.agent_ids()
    boxes = [
        h("label", h("input", type="checkbox", name="without", value=each, checked=each in without), f"without {each}")
        for each in host.memories.ids
    ]
    return h(
        "form",
        h(
            "label",
            h("span", "Prompt"),
            h("textarea", prompt, name="prompt", rows=3, required=True, placeholder="What did we decide about …?"),
        ),
        h(
            "div",
            _select("chat", "Chat", CHAT_TYPES, chat),
            _select("agent", "Agent", agents, agent) if len(agents) > 1 else NOTHING,
            h("span", boxes, class_="choices"),
            h("button", "Show", type="submit"),
            class_="row",
        ),
        visit.token_field(),
        method="post",  # a prompt may be too long for an address
        action="/agent",
        class_="card stack",
        data_part="#given",
    )


def _select(name: str, label: str, values: Sequence[str], chosen: str) -> Markup:
    options = [h("option", each, value=each, selected=each == chosen) for each in values]
    return h("label", h("span", label), h("select", options, name=name))


def _answer(visit: Visit, prompt: str) -> Markup:
    host = visit.host
    chat = next((each for each in CHAT_TYPES if each == visit.get("chat")), CHAT_TYPES[0])
    agent = visit.get("agent") or host.agent_id
    without = [each for each in visit.values.get("without", ()) if each in host.memories.ids]
    if agent == host.agent_id:
        given = _run(host, prompt, chat)
    else:
        with Host.load(agent=agent) as other:
            given = _run(other, prompt, chat)
    if not without:
        return _shown(given)
    with _host_without(host, agent, without) as lesser:
        less = _run(lesser, prompt, chat)
    if set(without) == set(host.memories.ids):
        less = replace(less, problems=())  # that there is no memory is what was asked for
    return join([_difference(given, less, without), _shown(less)])


@contextmanager
def _host_without(host: Host, agent: str, without: Sequence[str]) -> Iterator[Host]:
    """A host with the same settings and fewer memories; nothing is written."""
    tree = host.config.written()
    left = [each for each in host.memories.ids if each not in without]
    tree.setdefault("plugins", {}).setdefault("slots", {})["memory"] = left or "none"
    with Host.load(tree, agent=agent) as lesser:
        yield lesser


def _run(host: Host, prompt: str, chat: ChatType) -> Given:
    """Start a run in a session of its own and end it without messages, so that nothing is captured."""
    with host.run(prompt, chat_type=chat) as run:
        problems = [] if len(host.memories) else [host.memory_problem or ""]
        return Given(run.system_prompt, run.context, run.info.prompt, run.tools, [each for each in problems if each])


def _shown(given: Given) -> Markup:
    tokens = given.tokens
    counts = [h("li", h("strong", f"{number:,}"), f" {name}") for name, number in tokens.items()]
    total = h(
        "li", "about ", h("strong", f"{sum(tokens.values()):,}"), " tokens in all", class_="total", data_said=True
    )
    tools = [
        h(
            "details",
            h("summary", h("code", tool.name), " ", h("span", tool.description, class_="quiet")),
            h("pre", json.dumps(tool.schema, indent=2, ensure_ascii=False)),
        )
        for tool in given.tools
    ]
    return join(
        [
            [notice(each, level="warn") for each in given.problems],
            h("ul", total, counts, class_="counts"),
            _section("System prompt", given.system_prompt, "Plugins add nothing to the system prompt."),
            _section("Recalled before the prompt", given.context, "Nothing was recalled."),
            _section("Prompt", given.prompt, ""),
            h("section", h("h2", f"Tools ({len(tools)})"), tools or empty("No tools."), class_="card"),
        ]
    )


def _section(title: str, text: str, otherwise: str) -> Markup:
    return h("section", h("h2", title), h("pre", text) if text else empty(otherwise), class_="card")


def _difference(given: Given, less: Given, without: Sequence[str]) -> Markup:
    """Show what is missing without some memories, as a diff."""
    lines = []
    for name, before, after in (
        ("system prompt", given.system_prompt, less.system_prompt),
        ("recalled", given.context, less.context),
        ("tools", "\n".join(tool.name for tool in given.tools), "\n".join(tool.name for tool in less.tools)),
    ):
        changed = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0))[2:]
        lines += [f"@@ {name}", *(line for line in changed if not line.startswith("@@"))] if changed else []
    saved = sum(given.tokens.values()) - sum(less.tokens.values())
    head = h("h2", f"Without {', '.join(without)} ", badge(f"{-saved:+,} tokens"))
    return h("section", head, diff(lines) if lines else empty("Nothing changes."), class_="card")
