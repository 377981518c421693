"""Settings: the memory slot, each plugin's own, and what the doctor finds.

A change is shown as a diff of the config file before it is written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memslot import ConfigFile, Finding, MemslotError, examine

from memslot_inspector.forms import Field, fields_of, read, render
from memslot_inspector.markup import NOTHING, Markup, h, join
from memslot_inspector.pages.diff import diff
from memslot_inspector.pages.layout import badge, empty, notice
from memslot_inspector.visit import Page, Redirect, Visit, address

if TYPE_CHECKING:
    from memslot import Host

SLOT = ("plugins", "slots", "memory")
NONE = "none"
_FINDING_LEVELS = {"ok": "good", "warning": "warn", "problem": "bad"}
Changes = list[tuple[tuple[str | int, ...], Any]]


def show(visit: Visit) -> Page:
    host = visit.host
    file = h("p", "Written to ", h("code", str(host.places.config_file)), class_="quiet")
    findings = h(
        "section",
        h("h2", "Doctor"),
        h("div", h("p", h("a", "Run doctor", href="/settings/doctor")), data_load="/settings/doctor"),
    )
    return Page("Settings", join([file, _slot_form(visit), _plugins(host), findings]))


def _memories(host: Host) -> list[str]:
    return [each.plugin.id for each in host.activation.decisions if each.plugin.kind == "memory"]


def _slot_members(visit: Visit) -> list[str]:
    written = visit.host.config.plugins.slots.memory
    named = [written] if isinstance(written, str) else list(written)
    return [each for each in named if each != NONE]


def _slot_form(visit: Visit) -> Markup:
    """A select list for each position in the stack."""
    known, members = _memories(visit.host), _slot_members(visit)
    known += [each for each in members if each not in known]
    selects = []
    for place in range(max(len(known), len(members))):
        chosen = members[place] if place < len(members) else ""
        options = [h("option", "nothing" if place else "no memory", value="", selected=not chosen)]
        options += [h("option", each, value=each, selected=each == chosen) for each in known]
        label = "Owner" if place == 0 else f"Beside it, {place}" if place > 1 else "Beside it"
        control = h("select", options, name="slot", id=f"slot-{place}")
        grip = h("span", "⠿", class_="grip", aria_hidden="true", title="Drag to another place")
        shown = h("label", label, for_=f"slot-{place}")
        selects.append(h("li", grip, shown, control, draggable="true", class_="field"))
    return h(
        "section",
        h("h2", "Memory slot"),
        h(
            "form",
            visit.token_field(),
            h("input", type="hidden", name="form", value="slot"),
            h("p", "The owner comes first. Others run beside it: all are searched and recalled from.", class_="quiet"),
            h("ol", selects, class_="slots", data_sort=True),
            h("div", h("button", "See the change", type="submit"), class_="row end"),
            method="post",
            action="/settings/preview",
            class_="card stack",
        ),
    )


def _plugins(host: Host) -> Markup:
    rows = []
    for decision in host.activation.decisions:
        plugin = decision.plugin
        schemas = [plugin.config_schema, *({"properties": keys} for keys in plugin.sections.values())]
        count = sum(1 for schema in schemas for _ in fields_of(schema, plugin.ui_hints))
        link = address("/settings/plugin", id=plugin.id)
        rows.append(
            h(
                "tr",
                h("td", h("a", plugin.id, href=link), h("p", plugin.description, class_="quiet")),
                h("td", plugin.kind or "–"),
                h(
                    "td",
                    badge("runs", "good") if decision.runs else badge("off"),
                    h("p", decision.reason, class_="quiet"),
                ),
                h("td", count or "–", class_="number"),
            )
        )
    heads = [h("th", name, scope="col", class_=f"col-{name}") for name in ("plugin", "kind", "state", "settings")]
    table = h("table", h("thead", h("tr", heads)), h("tbody", rows))
    shown = h("div", table, class_="scroll", tabindex="0", role="region", aria_label="Plugins")
    return h("section", h("h2", "Plugins"), shown)


# One plugin


def _fields(visit: Visit, plugin_id: str, config: ConfigFile) -> list[Field]:
    """The fields of a plugin's form: whether it is enabled, its own settings, and those it describes in sections."""
    plugin = next((each.plugin for each in visit.host.activation.decisions if each.plugin.id == plugin_id), None)
    if plugin is None:
        raise MemslotError(f"there is no plugin {plugin_id!r}")
    entry = ("plugins", "entries", plugin_id)
    switch = Field(("enabled",), {"type": "boolean", "default": True}, {"label": "Enabled"}, (*entry, "enabled"))
    own = [
        Field(("config", *each.path), each.schema, each.hint, (*entry, "config", *each.path))
        for each in fields_of(plugin.config_schema, plugin.ui_hints)
    ]
    shared = [
        Field((name, *each.path), each.schema, each.hint, (*ConfigFile.section_key(name), *each.path))
        for name, keys in plugin.sections.items()
        for each in fields_of({"properties": keys}, {})
    ]
    return [_guarded(each, config) for each in (switch, *own, *shared)]


def _guarded(field: Field, config: ConfigFile) -> Field:
    """Mark a field as secret if its name or value looks like one, whatever the manifest says."""
    shown = ("plain", config.get(field.key))
    is_open = all(each is None or config.masked(each, field.key) == each for each in shown)
    return field if is_open else replace(field, hint={**field.hint, "sensitive": True})


def show_plugin(visit: Visit) -> Page:
    plugin_id = visit.get("id")
    config = ConfigFile(visit.host.places)
    fields = _fields(visit, plugin_id, config)
    usual = [render(each, config.get(each.key)) for each in fields if not each.is_advanced and not _section(each)]
    advanced = [render(each, config.get(each.key)) for each in fields if each.is_advanced]
    sections: dict[str, list[Markup]] = {}
    for each in fields:
        if _section(each):
            sections.setdefault(_section(each), []).append(render(each, config.get(each.key)))
    form = h(
        "form",
        visit.token_field(),
        h("input", type="hidden", name="form", value="plugin"),
        h("input", type="hidden", name="id", value=plugin_id),
        usual,
        h("details", h("summary", "Advanced"), advanced, class_="advanced") if advanced else NOTHING,
        [h("details", h("summary", h("code", name)), shown, class_="advanced") for name, shown in sections.items()],
        h(
            "div",
            h("a", "Back", href="/settings", class_="button"),
            h("button", "See the change", type="submit"),
            class_="row end",
        ),
        method="post",
        action="/settings/preview",
        class_="card stack",
    )
    abouts = [each.plugin.description for each in visit.host.activation.decisions if each.plugin.id == plugin_id]
    return Page(plugin_id, join([h("p", abouts, class_="quiet"), form]))


def _section(field: Field) -> str:
    """The key of the section that a field is in; empty for the plugin's own settings."""
    return ".".join(map(str, field.key[: len(field.key) - len(field.path) + 1])) if field.key[0] != "plugins" else ""


# Writing


def _changes(visit: Visit, config: ConfigFile) -> Changes:
    """What the form changes."""
    if visit.get("form") == "slot":
        return _slot_changes(visit, config)
    plugin_id = visit.get("id")
    changes: Changes = []
    for field in _fields(visit, plugin_id, config):
        before = config.get(field.key)
        after = read(field, visit.values, before)
        if after != before or isinstance(after, bool) != isinstance(before, bool):
            changes.append((field.key, after))
    return changes


def _slot_changes(visit: Visit, config: ConfigFile) -> Changes:
    chosen = list(dict.fromkeys(each for each in visit.values.get("slot", ()) if each))
    wanted: str | list[str] = chosen[0] if len(chosen) == 1 else chosen or NONE
    unchanged = config.get(SLOT) == wanted or (config.get(SLOT) is None and chosen == _slot_members(visit))
    return [] if unchanged else [(SLOT, wanted)]


def preview(visit: Visit) -> Page | Redirect:
    """Show the change as a diff of the file. It is kept here until confirmed, so no secret goes back to the browser."""
    config = ConfigFile(visit.host.places)
    changes = _changes(visit, config)
    changed = config.preview_diff(changes)
    back = address("/settings/plugin", id=visit.get("id")) if visit.get("form") == "plugin" else "/settings"
    if not changed.lines:
        return Redirect(back, "unchanged")
    form = h(
        "form",
        visit.token_field(),
        h("input", type="hidden", name="change", value=visit.pending.put((changes, changed.before))),
        h("a", "Back", href=back, class_="button"),
        h("button", "Write it", type="submit"),
        method="post",
        action="/settings/save",
        class_="row end",
    )
    lead = notice("These are the changes. Nothing has been written yet.")
    return Page("Change the settings?", join([lead, diff(changed.lines), form]))


def save(visit: Visit) -> Redirect:
    changes, before = visit.pending.take(visit.get("change"))
    wrote = ConfigFile(visit.host.places).change(changes, expected=before)
    return Redirect("/settings", "settings" if wrote else "unchanged")


# Doctor


def show_findings(visit: Visit) -> Page:
    findings = examine()
    order = {"problem": 0, "warning": 1, "ok": 2}
    shown = [_finding(each) for each in sorted(findings, key=lambda each: order[each.level])]
    part = h("ul", shown, class_="findings") if shown else empty("Nothing was checked.")
    return Page("Doctor", part, part)


def _finding(finding: Finding) -> Markup:
    cure = h("p", "Next: ", h("code", finding.action)) if finding.action else NOTHING
    level = badge(finding.level, _FINDING_LEVELS[finding.level])
    return h("li", h("p", level, " ", h("strong", finding.about), " ", finding.message), cure, class_="card")
