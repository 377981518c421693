"""Provider selection: by name, by fallback or automatically, with the reason."""

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
    from memslot.plugins.info import PluginInfo

AUTO, NONE = "auto", "none"
REPLACED = {"static": "universal"}
"""Removed providers and their replacements, so old configs keep working."""
CREATE_SECONDS = 30.0
"""Long enough to load a model; slower providers are skipped."""


def without_replaced(settings: MemorySearch, known: Collection[str]) -> MemorySearch:
    """Replace removed providers in the settings, and drop their model and dimensions.

    A name in `known` is left alone: an active plugin registers it.
    """
    gone = REPLACED.keys() - set(known)
    if settings.provider in gone:
        settings = dataclasses.replace(settings, provider=REPLACED[settings.provider], model=None, dimensions=None)
    if settings.fallback in gone:
        settings = dataclasses.replace(settings, fallback=REPLACED[settings.fallback])
    return settings


def plugins_for(settings: MemorySearch, plugins: Iterable[PluginInfo]) -> list[str]:
    """Ids of the plugins that a choice of provider may need; a manifest says which providers a plugin has."""
    plugins = tuple(plugins)
    owners = {name: plugin.id for plugin in plugins for name in plugin.providers}
    settings = without_replaced(settings, owners)
    names = {settings.provider, settings.fallback} - {NONE}
    if settings.provider == NONE:
        return []
    if names <= owners.keys():
        return [owners[name] for name in names]
    if settings.provider == AUTO:
        return [plugin.id for plugin in plugins if plugin.providers or plugin.kind == "embedder"]
    return [plugin.id for plugin in plugins]  # a name that no manifest tells


@dataclass(frozen=True)
class Selection:
    """The selected provider, or None for keyword search only, with the reason and the candidates `passed_over`."""

    provider: EmbeddingProvider | None
    requested: str
    reason: str
    passed_over: tuple[tuple[str, str], ...] = ()
    sends_text_away: bool = False
    """Whether the provider sends texts to a third party, who may charge for it."""

    @property
    def is_degraded(self) -> bool:
        """Whether the requested provider is not the one in use."""
        got = self.provider.id if self.provider is not None else NONE
        return self.requested not in (AUTO, got)

    def to_json(self) -> dict[str, Any]:
        """Return the selection as JSON with stable keys."""
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
    """A registered provider for display: its plugin, and what it lacks to be usable, if anything."""

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
        """Report what each registered provider lacks, in "auto" order, then by name. Creates none."""
        settings = without_replaced(settings, self._specs)
        reports = []
        for plugin_id, spec in self._specs.values():
            order = spec.auto_order if isinstance(spec.auto_order, int | float) else None
            lack = self._lack(spec, self._options_for(spec.id, settings))
            reports.append(ProviderReport(spec.id, plugin_id, lack, bool(spec.sends_text_away), order))
        return sorted(reports, key=lambda each: (each.auto_order is None, each.auto_order or 0, each.id))

    def select_only(self, name: str, settings: MemorySearch) -> Selection:
        """Create the named provider and no other, whatever the settings say."""
        provider, fault = self._create(name, self._options_for(name, without_replaced(settings, self._specs)))
        if provider is not None:
            return Selection(provider, name, "requested by name", sends_text_away=self._sends_away(provider))
        return Selection(None, name, f"{name}: {fault}", ((name, fault),))

    def _options_for(self, name: str, settings: MemorySearch) -> ProviderOptions:
        """Return the options for a provider, without the key, address and model of another one."""
        if settings.provider in (AUTO, name):
            return ProviderOptions.from_settings(settings, self._env)
        return ProviderOptions.from_settings(settings, self._env).for_another_provider()

    def select(self, settings: MemorySearch) -> Selection:
        """Select by the settings. Only "auto" may pick a provider that is not named in them."""
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
        """Return the provider, or None and the reason."""
        try:
            spec = self._find(name)
        except UnknownProviderError as error:
            return None, one_line(str(error))
        identity = (name, *options.identity)
        if identity in self._made:  # keep loaded models and connections
            return self._made[identity], ""
        lack = self._lack(spec, options)
        if lack is not None:
            return None, lack

        def create() -> tuple[EmbeddingProvider | None, str]:
            provider = spec.create(options)
            # Within the time budget: a provider may query its server for its dims.
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
        """Return what a provider lacks, in one sentence. Plugin code, so it runs under a time-out."""
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
            raise UnknownProviderError(f'unknown embedding provider "{name}"; active providers: {known}')
        return self._specs[name][1]


def _fault(error: BaseException, options: ProviderOptions) -> str:
    return one_line(_hide(describe_error(error), options))


def _hide(text: str, options: ProviderOptions) -> str:
    """Mask keys in provider error messages."""
    secrets = [options.api_key or "", *options.headers.values()]
    secrets += [value for name, value in options.env.items() if name.endswith(("_KEY", "_TOKEN", "_SECRET"))]
    return SecretMask(secret for secret in secrets if len(secret) >= 8)(text)
