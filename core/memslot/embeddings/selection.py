"""Selects the embedding provider: by name, as a fallback or automatically, and says why."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memslot.diagnostics import describe_error
from memslot.embeddings.contract import EmbeddingProvider, EmbeddingProviderSpec, ProviderOptions, misfit
from memslot.errors import NameClashError, UnknownProviderError
from memslot.redaction.mask import SecretMask
from memslot.text import one_line
from memslot.threads import call_within

if TYPE_CHECKING:
    from memslot.config.search_model import MemorySearch

AUTO, NONE = "auto", "none"
REPLACED = {"static": "universal"}
"""Providers that are gone, with the one that does their work; configs from before go on working."""
CREATE_SECONDS = 30.0
"""Long enough to load a model; a provider that takes longer is passed over."""


def without_replaced(settings: MemorySearch, known: Collection[str]) -> MemorySearch:
    """The settings with today's provider for one that is gone, whose model and vector length go with it.

    A name in `known` is some plugin's own.
    """
    gone = REPLACED.keys() - set(known)
    if settings.provider in gone:
        settings = dataclasses.replace(settings, provider=REPLACED[settings.provider], model=None, dimensions=None)
    if settings.fallback in gone:
        settings = dataclasses.replace(settings, fallback=REPLACED[settings.fallback])
    return settings


@dataclass(frozen=True)
class Selection:
    """The provider in use, or None for keyword search only; `reason` says why, `passed_over` what else was tried."""

    provider: EmbeddingProvider | None
    requested: str
    reason: str
    passed_over: tuple[tuple[str, str], ...] = ()
    sends_text_away: bool = False
    """Whether the provider in use hands texts to somebody else, who may charge for it."""

    @property
    def is_degraded(self) -> bool:
        """Whether something else was asked for."""
        got = self.provider.id if self.provider is not None else NONE
        return self.requested not in (AUTO, got)

    def to_json(self) -> dict[str, Any]:
        """The choice as JSON, under keys that scripts can rely on."""
        provider = self.provider
        return {
            "requested": self.requested,
            "provider": provider.id if provider is not None else None,
            "model": provider.model if provider is not None else None,
            "dims": provider.dims if provider is not None else None,
            "reason": self.reason,
            "keywordsOnly": provider is None,
            "degraded": self.is_degraded,
            "passedOver": [{"provider": name, "reason": why} for name, why in self.passed_over],
        }


@dataclass(frozen=True)
class ProviderReport:
    """A registered provider as a person sees it: whose it is, and what it lacks to be used, if anything."""

    id: str
    plugin: str
    lack: str | None
    sends_text_away: bool
    auto_order: float | None


class ProviderRegistry:
    """The providers of all active plugins."""

    def __init__(self, env: Mapping[str, str] | None = None, *, create_seconds: float = CREATE_SECONDS) -> None:
        self._env = os.environ if env is None else env
        self._create_seconds = create_seconds
        self._specs: dict[str, tuple[str, EmbeddingProviderSpec]] = {}
        self._made: dict[tuple[object, ...], EmbeddingProvider] = {}

    def add(self, plugin_id: str, specs: Iterable[EmbeddingProviderSpec]) -> None:
        for spec in specs:
            if spec.id in self._specs:
                other = self._specs[spec.id][0]
                raise NameClashError(
                    f'{other} and {plugin_id} both register the embedding provider "{spec.id}"; '
                    f"disable one with: memslot plugins disable {plugin_id}"
                )
            self._specs[spec.id] = (plugin_id, spec)

    @property
    def specs(self) -> tuple[EmbeddingProviderSpec, ...]:
        return tuple(spec for _, spec in self._specs.values())

    def report(self, settings: MemorySearch) -> list[ProviderReport]:
        """What each registered provider lacks to be used; in the order of "auto", then by name. Creates none."""
        settings = without_replaced(settings, self._specs)
        reports = []
        for plugin_id, spec in self._specs.values():
            order = spec.auto_order if isinstance(spec.auto_order, int | float) else None
            lack = self._lack(spec, self._options_for(spec.id, settings))
            reports.append(ProviderReport(spec.id, plugin_id, lack, bool(spec.sends_text_away), order))
        return sorted(reports, key=lambda each: (each.auto_order is None, each.auto_order or 0, each.id))

    def select_only(self, name: str, settings: MemorySearch) -> Selection:
        """Create the provider of that name and no other, whatever the settings name."""
        provider, fault = self._create(name, self._options_for(name, without_replaced(settings, self._specs)))
        if provider is not None:
            return Selection(provider, name, "asked for by name", sends_text_away=self._sends_away(provider))
        return Selection(None, name, f"{name}: {fault}", ((name, fault),))

    def _options_for(self, name: str, settings: MemorySearch) -> ProviderOptions:
        """The settings, unless they are about another provider: its key, address and model are not for this one."""
        if settings.provider in (AUTO, name):
            return ProviderOptions.from_settings(settings, self._env)
        return ProviderOptions.from_settings(settings, self._env).for_another_provider()

    def select(self, settings: MemorySearch) -> Selection:
        """Choose by the settings. A provider that nobody named is never sent any text, except by "auto"."""
        settings = without_replaced(settings, self._specs)
        options = ProviderOptions.from_settings(settings, self._env)
        if settings.provider == NONE:
            return Selection(None, NONE, 'memorySearch.provider is "none"')
        if settings.provider == AUTO:
            return self._select_automatically(options)
        return self._select_named(settings.provider, settings.fallback, options)

    def _select_automatically(self, options: ProviderOptions) -> Selection:
        passed_over: list[tuple[str, str]] = []
        candidates = [spec for spec in self.specs if isinstance(spec.auto_order, int | float)]
        for spec in sorted(candidates, key=lambda spec: (spec.auto_order, spec.id)):
            provider, fault = self._create(spec.id, options)
            if provider is not None:
                away = self._sends_away(provider)
                return Selection(provider, AUTO, "the first that is ready", tuple(passed_over), away)
            passed_over.append((spec.id, fault))
        return Selection(None, AUTO, "no embedding provider is ready", tuple(passed_over))

    def _select_named(self, name: str, fallback: str, options: ProviderOptions) -> Selection:
        provider, fault = self._create(name, options)
        if provider is not None:
            return Selection(provider, name, "named in the config", sends_text_away=self._sends_away(provider))
        passed_over = [(name, fault)]
        if fallback != NONE:
            provider, why_not = self._create(fallback, options.for_another_provider())
            if provider is not None:
                away, why = self._sends_away(provider), f"the fallback, because {name}: {fault}"
                return Selection(provider, name, why, tuple(passed_over), away)
            passed_over.append((fallback, why_not))
        return Selection(None, name, f"{name}: {fault}", tuple(passed_over))

    def _create(self, name: str, options: ProviderOptions) -> tuple[EmbeddingProvider | None, str]:
        """The provider, or the reason why there is none."""
        try:
            spec = self._find(name)
        except UnknownProviderError as error:
            return None, one_line(str(error))
        identity = (name, *options.identity)
        if identity in self._made:  # a model or a connection is worth keeping
            return self._made[identity], ""
        lack = self._lack(spec, options)
        if lack is not None:
            return None, lack

        def create() -> tuple[EmbeddingProvider | None, str]:
            provider = spec.create(options)
            # Looked at here, within the budget: to know its dims a provider may have to ask a server.
            fault = misfit(provider)
            if fault is None and provider.id != name:
                fault = f"it calls itself {provider.id!r}"
            return (None, fault) if fault is not None else (provider, "")

        try:
            provider, fault = call_within(self._create_seconds, create)
        except (Exception, SystemExit) as error:
            return None, _fault(error, options)
        if provider is not None:
            self._made[identity] = provider
        return provider, fault

    def _lack(self, spec: EmbeddingProviderSpec, options: ProviderOptions) -> str | None:
        """What a provider lacks, in one sentence; asked in a thread of its own, since it is a plugin's code."""
        try:
            lack = call_within(self._create_seconds, lambda: spec.missing(options))
            return None if lack is None else one_line(_hide(lack, options)) or "it is not ready"
        except (Exception, SystemExit) as error:
            return _fault(error, options)

    def _sends_away(self, provider: EmbeddingProvider) -> bool:
        return bool(self._find(provider.id).sends_text_away)

    def _find(self, name: str) -> EmbeddingProviderSpec:
        if name not in self._specs:
            known = ", ".join(sorted(self._specs)) or "none"
            raise UnknownProviderError(f'there is no embedding provider "{name}"; the active ones are: {known}')
        return self._specs[name][1]


def _fault(error: BaseException, options: ProviderOptions) -> str:
    return one_line(_hide(describe_error(error), options))


def _hide(text: str, options: ProviderOptions) -> str:
    """Keep keys out of messages, whatever a provider puts into its errors."""
    secrets = [options.api_key or "", *options.headers.values()]
    secrets += [value for name, value in options.env.items() if name.endswith(("_KEY", "_TOKEN", "_SECRET"))]
    return SecretMask(secret for secret in secrets if len(secret) >= 8)(text)
