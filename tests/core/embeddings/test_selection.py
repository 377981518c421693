"""Which embedding provider is used, and the reason that is given for it."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from memslot import EmbeddingProviderSpec, Host, NameClashError, ProviderError, ProviderOptions, Selection
from memslot.config.search_model import MemorySearch
from memslot.embeddings.selection import ProviderRegistry

KEY = "k3y-0123456789-abcdef"


def make_provider(name: str, **changes: Any) -> Any:
    parts: dict[str, Any] = {
        "id": name,
        "model": f"{name}-model",
        "dims": 3,
        "max_input_tokens": 100,
        "embed_query": lambda text: [1.0, 0.0, 0.0],
        "embed_documents": lambda texts: [[1.0, 0.0, 0.0] for _ in texts],
    }
    return SimpleNamespace(**{key: value for key, value in {**parts, **changes}.items() if value is not ...})


class Shop:
    """A registry, and the order in which providers were created."""

    def __init__(self, env: dict[str, str] | None = None, **options: Any) -> None:
        self.registry = ProviderRegistry(env or {}, **options)
        self.created: list[str] = []
        self.options: list[ProviderOptions] = []

    def add(
        self,
        name: str,
        order: Any = None,
        *,
        missing: Callable[[ProviderOptions], Any] = lambda options: None,
        create: Callable[[ProviderOptions], Any] | None = None,
    ) -> Shop:
        def make(options: ProviderOptions) -> Any:
            self.created.append(name)
            self.options.append(options)
            return create(options) if create else make_provider(name)

        self.registry.add(f"plugin-{name}", [EmbeddingProviderSpec(name, make, missing, order)])
        return self

    def select(self, **settings: Any) -> Selection:
        return self.registry.select(MemorySearch.from_tree(settings))


def used(selection: Selection) -> str | None:
    return selection.provider.id if selection.provider is not None else None


# auto


def test_auto_takes_the_first_by_order_and_creates_no_other() -> None:
    shop = Shop().add("late", 60).add("early", 10).add("middle", 30)
    selection = shop.select(provider="auto")
    assert used(selection) == "early"
    assert shop.created == ["early"]
    assert not selection.is_degraded
    assert selection.passed_over == ()


def test_auto_passes_over_what_lacks_something_and_says_what() -> None:
    shop = Shop().add("a", 10, missing=lambda options: "there is no\nkey for a").add("b", 20)
    selection = shop.select(provider="auto")
    assert used(selection) == "b"
    assert selection.passed_over == (("a", "there is no key for a"),)
    assert shop.created == ["b"]


def test_auto_never_takes_one_that_has_no_place_in_the_order() -> None:
    selection = Shop().add("by-name-only").select(provider="auto")
    assert used(selection) is None
    assert selection.reason == "no embedding provider is ready"


def test_equal_places_are_ordered_by_name() -> None:
    assert used(Shop().add("b", 10).add("a", 10).select(provider="auto")) == "a"


def test_auto_is_what_holds_unless_told() -> None:
    assert Shop().add("a", 10).select().requested == "auto"


def test_auto_with_nothing_installed_searches_by_keywords() -> None:
    selection = Shop().select(provider="auto")
    assert (used(selection), selection.reason) == (None, "no embedding provider is ready")


@pytest.mark.parametrize("order", [10.5, True, -1, 0])
def test_any_number_is_a_place(order: Any) -> None:
    assert used(Shop().add("odd", order).add("last", 1000).select(provider="auto")) == "odd"


# none and by name


def test_none_asks_nobody() -> None:
    shop = Shop().add("a", 10)
    selection = shop.select(provider="none")
    assert used(selection) is None
    assert selection.reason == 'memorySearch.provider is "none"'
    assert not selection.is_degraded
    assert shop.created == []


def test_a_named_provider_is_taken_whatever_comes_first() -> None:
    shop = Shop().add("first", 1).add("wanted", 99)
    selection = shop.select(provider="wanted")
    assert (used(selection), selection.reason, selection.is_degraded) == ("wanted", "named in the config", False)
    assert shop.created == ["wanted"]


def test_a_named_provider_gets_what_was_configured() -> None:
    shop = Shop({"SOME_VAR": "x"}).add("wanted")
    shop.select(
        provider="wanted",
        model="m1",
        remote={"apiKey": KEY, "baseUrl": "http://localhost:1/v1", "headers": {"X-A": "b"}},
    )
    options = shop.options[0]
    assert (options.model, options.api_key, options.base_url) == ("m1", KEY, "http://localhost:1/v1")
    assert options.headers == {"X-A": "b"}
    assert options.env == {"SOME_VAR": "x"}
    assert KEY not in repr(options)


def test_a_named_provider_that_fails_sends_no_text_to_one_nobody_named() -> None:
    shop = Shop().add("wanted", 10, missing=lambda options: "no key").add("ready", 20)
    selection = shop.select(provider="wanted")
    assert used(selection) is None
    assert selection.reason == "wanted: no key"
    assert selection.is_degraded
    assert shop.created == []


def test_an_unknown_name_says_which_there_are() -> None:
    selection = Shop().add("b").add("a").select(provider="opnai")
    assert used(selection) is None
    assert selection.reason == 'opnai: unknown embedding provider "opnai"; active providers: a, b'
    assert selection.is_degraded


def test_an_unknown_name_where_there_are_none_at_all() -> None:
    assert Shop().select(provider="x").reason.endswith("active providers: none")


# fallback


def test_the_fallback_is_used_and_says_why() -> None:
    shop = Shop().add("wanted", missing=lambda options: "no key").add("spare")
    selection = shop.select(provider="wanted", fallback="spare")
    assert used(selection) == "spare"
    assert selection.reason == "the fallback, because wanted: no key"
    assert selection.is_degraded
    assert selection.passed_over == (("wanted", "no key"),)


def test_the_fallback_gets_neither_key_nor_address_nor_model_of_the_other() -> None:
    shop = Shop({"SPARE_KEY": "x"}).add("wanted", missing=lambda options: "down").add("spare")
    remote = {"apiKey": KEY, "baseUrl": "http://localhost:1", "headers": {"X-A": "b"}}
    shop.select(provider="wanted", fallback="spare", model="m1", remote=remote)
    assert shop.options == [ProviderOptions(env={"SPARE_KEY": "x"})]


def test_the_fallback_is_left_alone_where_it_is_not_needed() -> None:
    shop = Shop().add("wanted").add("spare")
    assert used(shop.select(provider="wanted", fallback="spare")) == "wanted"
    assert shop.created == ["wanted"]


def test_a_fallback_that_fails_too_leaves_keywords_and_tells_both() -> None:
    shop = Shop().add("wanted", missing=lambda options: "no key").add("spare", missing=lambda options: "no file")
    selection = shop.select(provider="wanted", fallback="spare")
    assert used(selection) is None
    assert selection.passed_over == (("wanted", "no key"), ("spare", "no file"))
    assert selection.is_degraded


def test_a_fallback_nobody_has_is_told() -> None:
    selection = Shop().add("wanted", missing=lambda options: "no key").select(provider="wanted", fallback="spare")
    assert "spare" in dict(selection.passed_over)


# Providers that misbehave


def raise_(error: BaseException) -> Any:
    raise error


MISDEEDS: dict[str, Callable[[ProviderOptions], Any]] = {
    "raises": lambda options: raise_(RuntimeError("no luck")),
    "exits": lambda options: raise_(SystemExit(3)),
    "gives none": lambda options: None,
    "gives text": lambda options: "provider",
    "gives a class": lambda options: type("P", (), {}),
    "lacks dims": lambda options: make_provider("bad", dims=...),
    "lacks embed_query": lambda options: make_provider("bad", embed_query=...),
    "embed_query is no function": lambda options: make_provider("bad", embed_query=5),
    "attribute raises": lambda options: type("P", (), {"id": property(lambda self: 1 / 0)})(),
    "unprintable error": lambda options: raise_(type("Odd", (Exception,), {"__str__": lambda self: str(1 / 0)})()),
}


@pytest.mark.parametrize("misdeed", sorted(MISDEEDS))
def test_a_provider_that_does_not_work_is_passed_over_with_a_reason(misdeed: str) -> None:
    shop = Shop().add("bad", 10, create=MISDEEDS[misdeed]).add("good", 20)
    selection = shop.select(provider="auto")
    assert used(selection) == "good"
    ((name, reason),) = selection.passed_over
    assert name == "bad"
    assert reason
    assert "\n" not in reason
    named = shop.select(provider="bad")
    assert used(named) is None
    assert named.reason == f"bad: {reason}"


def test_what_a_provider_lacks_is_named() -> None:
    shop = Shop().add("bad", create=lambda options: make_provider("bad", dims=..., embed_documents=...))
    assert shop.select(provider="bad").reason == "bad: SimpleNamespace lacks dims, embed_documents"


@pytest.mark.parametrize(
    "missing",
    [
        lambda options: raise_(RuntimeError("no luck")),
        lambda options: raise_(SystemExit(3)),
        lambda options: True,
        lambda options: ["no key"],
        lambda options: "",
    ],
    ids=["raises", "exits", "true", "list", "blank"],
)
def test_a_missing_check_that_does_not_work_counts_as_missing(missing: Any) -> None:
    shop = Shop().add("bad", 10, missing=missing).add("good", 20)
    selection = shop.select(provider="auto")
    assert used(selection) == "good"
    assert selection.passed_over[0][0] == "bad"
    assert selection.passed_over[0][1]


def test_a_provider_that_calls_itself_something_else_is_not_taken_for_a_fallback() -> None:
    shop = Shop().add("wanted", create=lambda options: make_provider("another name"))
    selection = shop.select(provider="wanted")
    assert selection.provider is None or not selection.is_degraded


@pytest.mark.parametrize(
    "changes",
    [{"dims": 0}, {"dims": -3}, {"dims": "many"}, {"dims": None}, {"model": None}, {"max_input_tokens": "x"}],
    ids=lambda changes: str(changes),
)
def test_a_provider_that_lies_about_itself_is_passed_over(changes: dict[str, Any]) -> None:
    selection = Shop().add("liar", create=lambda options: make_provider("liar", **changes)).select(provider="liar")
    assert used(selection) is None
    assert next(iter(changes)) in selection.reason


@pytest.mark.parametrize("order", ["10", "first", [1], {}])
def test_a_place_that_is_no_number_does_not_stop_the_choice(order: Any) -> None:
    try:
        shop = Shop().add("odd", order).add("good", 20)
    except Exception as error:
        pytest.fail(f"refusing it is the registration's job, with a diagnostic: {error!r}")
    assert used(shop.select(provider="auto")) == "good"


# Keys


LEAKS: dict[str, Any] = {
    "error of create": {"create": lambda options: raise_(RuntimeError(f"401 for {options.api_key}"))},
    "error of missing": {"missing": lambda options: raise_(RuntimeError(f"401 for {options.api_key}"))},
    "words of missing": {"missing": lambda options: f"the key {options.api_key} is refused"},
    "header": {"create": lambda options: raise_(RuntimeError(f"sent {dict(options.headers)}"))},
    "environment": {"create": lambda options: raise_(RuntimeError(f"used {options.env['OPENAI_API_KEY']}"))},
    "words about environment": {"missing": lambda options: f"{options.env['OPENAI_API_KEY']} is refused"},
    "repr of options": {"create": lambda options: raise_(RuntimeError(repr(options)))},
    "key at the cut": {"create": lambda options: raise_(RuntimeError("x" * 490 + str(options.api_key)))},
}


@pytest.mark.parametrize("leak", sorted(LEAKS))
@pytest.mark.parametrize("way", ["named", "auto", "fallback"])
def test_a_key_is_in_no_reason(leak: str, way: str) -> None:
    shop = Shop({"OPENAI_API_KEY": KEY + "-env"}).add("leaky", 10, **LEAKS[leak]).add("spare", 20)
    selection = shop.select(
        provider="auto" if way == "auto" else "leaky",
        fallback="spare" if way == "fallback" else "none",
        remote={"apiKey": KEY, "headers": {"Authorization": f"Bearer {KEY}-header"}},
    )
    told = repr(selection.reason) + repr(selection.passed_over) + repr(selection.requested)
    assert KEY[:12] not in told
    assert "leaky" in told


# Providers that hang


@pytest.mark.parametrize("part", ["missing", "create", "dims"])
@pytest.mark.parametrize("way", ["named", "auto"])
def test_a_provider_that_hangs_is_passed_over(part: str, way: str) -> None:
    let_go = threading.Event()

    def hang(options: ProviderOptions) -> Any:
        let_go.wait(60)

    class SlowDims:
        id, model, max_input_tokens = "slow", "m", 10
        dims = property(lambda self: let_go.wait(60) and 3)
        embed_query = embed_documents = print

    shop = Shop(create_seconds=1.0)
    make = {"missing": {"missing": hang}, "create": {"create": hang}, "dims": {"create": lambda options: SlowDims()}}
    shop.add("slow", 10, **make[part]).add("good", 20)
    selection = shop.select(provider="auto" if way == "auto" else "slow")
    assert used(selection) == ("good" if way == "auto" else None)
    assert "no answer within 1 s" in dict(selection.passed_over)["slow"]
    let_go.set()


# As JSON, and as a list


def test_a_choice_as_json() -> None:
    shop = Shop().add("a", 10, missing=lambda options: "no key").add("b", 20)
    assert shop.select().to_json() == {
        "requested": "auto",
        "provider": "b",
        "model": "b-model",
        "dims": 3,
        "reason": "the first that is ready",
        "keywordsOnly": False,
        "degraded": False,
        "passedOver": [{"provider": "a", "reason": "no key"}],
    }
    assert shop.select(provider="a").to_json() == {
        "requested": "a",
        "provider": None,
        "model": None,
        "dims": None,
        "reason": "a: no key",
        "keywordsOnly": True,
        "degraded": True,
        "passedOver": [{"provider": "a", "reason": "no key"}],
    }


def test_the_report_has_every_provider_in_order_and_creates_none() -> None:
    shop = Shop().add("by-name").add("late", 60).add("early", 10, missing=lambda options: "no key")
    reports = shop.registry.report(MemorySearch())
    assert [(each.id, each.plugin, each.lack) for each in reports] == [
        ("early", "plugin-early", "no key"),
        ("late", "plugin-late", None),
        ("by-name", "plugin-by-name", None),
    ]
    assert shop.created == []


def test_settings_for_one_provider_are_not_shown_to_another() -> None:
    seen: dict[str, ProviderOptions] = {}

    def look(name: str) -> Callable[[ProviderOptions], None]:
        return lambda options: seen.__setitem__(name, options)

    shop = Shop().add("mine", missing=look("mine")).add("other", missing=look("other"))
    settings = MemorySearch.from_tree({"provider": "mine", "model": "m1", "remote": {"apiKey": KEY}})
    shop.registry.report(settings)
    assert (seen["mine"].api_key, seen["mine"].model) == (KEY, "m1")
    assert (seen["other"].api_key, seen["other"].model) == (None, None)
    assert used(shop.registry.select_only("other", settings)) == "other"
    assert shop.options[-1].api_key is None
    assert used(shop.registry.select_only("mine", settings)) == "mine"
    assert shop.options[-1].api_key == KEY


def test_one_that_is_asked_for_by_name_has_no_fallback() -> None:
    shop = Shop().add("bad", missing=lambda options: "no key").add("spare")
    selection = shop.registry.select_only("bad", MemorySearch.from_tree({"provider": "bad", "fallback": "spare"}))
    assert (used(selection), selection.reason) == (None, "bad: no key")
    assert shop.created == []


# Providers that are gone


def test_static_is_read_as_universal_without_its_model_and_vector_length() -> None:
    shop = Shop().add("universal", 60)
    selection = shop.select(provider="static", model="wordllama-l2-supercat-256", dimensions=128)
    assert (used(selection), selection.is_degraded) == ("universal", False)
    assert (shop.options[0].model, shop.options[0].dimensions) == (None, None)


def test_static_as_a_fallback_is_read_as_universal() -> None:
    shop = Shop().add("bad", missing=lambda options: "no key").add("universal")
    assert used(shop.select(provider="bad", fallback="static")) == "universal"


def test_somebodys_own_provider_called_static_is_used() -> None:
    assert used(Shop().add("universal").add("static").select(provider="static", model="theirs")) == "static"


# Names


def test_two_plugins_with_one_provider_name_are_told_apart() -> None:
    shop = Shop().add("twin")
    with pytest.raises(NameClashError) as caught:
        shop.registry.add("other-plugin", [EmbeddingProviderSpec("twin", make_provider)])
    said = str(caught.value)
    assert "plugin-twin and other-plugin both register" in said
    assert '"twin"' in said
    assert "memslot plugins disable other-plugin" in said


@pytest.mark.parametrize("name", ["auto", "none"])
def test_a_name_with_a_meaning_is_refused(name: str) -> None:
    with pytest.raises(ProviderError, match="is a reserved word"):
        EmbeddingProviderSpec(name, lambda options: None)  # type: ignore[arg-type,return-value]


def test_fallback_gets_the_local_file_and_no_key_of_the_other() -> None:
    seen: list[ProviderOptions] = []

    def create(options: ProviderOptions) -> Any:
        seen.append(options)
        return make_provider("second")

    registry = ProviderRegistry({})
    registry.add("p", [EmbeddingProviderSpec("second", create)])
    remote = {"apiKey": "sk-first-provider-0123", "baseUrl": "http://first"}
    local = {"modelPath": "/models/m.gguf"}
    tree = {"provider": "first", "fallback": "second", "model": "big", "remote": remote, "local": local}
    assert registry.select(MemorySearch.from_tree(tree)).provider is not None
    assert (seen[0].model_path, seen[0].api_key, seen[0].base_url, seen[0].model) == (
        "/models/m.gguf",
        None,
        None,
        None,
    )


def test_one_provider_is_made_once_for_the_same_options() -> None:
    made = []

    def create(options: ProviderOptions) -> Any:
        made.append(options.model)
        return make_provider("kept")

    registry = ProviderRegistry({})
    registry.add("p", [EmbeddingProviderSpec("kept", create)])
    first, again = (registry.select(MemorySearch(provider="kept", model="a")) for _ in range(2))
    assert first.provider is again.provider
    registry.select(MemorySearch(provider="kept", model="b"))
    assert made == ["a", "b"]


# Through the host


@pytest.fixture
def write_plugin(tmp_path: Path) -> Iterator[Callable[[str, str], None]]:
    names: list[str] = []

    def write(plugin_id: str, code: str) -> None:
        package = plugin_id.replace("-", "_")
        names.append(package)
        folder = tmp_path / "plugins" / package
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("from memslot import EmbeddingProviderSpec, hookimpl\n" + code)
        manifest = {"id": plugin_id, "kind": "embedder", "name": plugin_id}
        (folder / "memslot.plugin.json").write_text(json.dumps(manifest))

    yield write
    for name in names:
        sys.modules.pop(name, None)


def load(tmp_path: Path, ids: str, **search: Any) -> Host:
    config = {
        "plugins": {"load": {"paths": [str(tmp_path / "plugins")]}, "slots": {"memory": "none"}},
        "agents": {"defaults": {"memorySearch": search}},
    }
    return Host.load(config, home=tmp_path / "home", env={"MEMSLOT_LOAD_PLUGINS": ids})


REGISTER = """
class Provider:
    id, model, dims, max_input_tokens = {name!r}, "m", 2, 10
    def embed_query(self, text): return [1.0, 0.0]
    def embed_documents(self, texts): return [[1.0, 0.0] for _ in texts]

@hookimpl
def register_embedding_providers():
    return [EmbeddingProviderSpec({name!r}, lambda options: Provider(), auto_order={order})]
"""


def test_a_third_partys_provider_joins_by_its_own_place(tmp_path: Path, write_plugin: Any) -> None:
    write_plugin("embed-theirs", REGISTER.format(name="theirs", order=5))
    write_plugin("embed-later", REGISTER.format(name="later", order=50))
    with load(tmp_path, "embed-theirs,embed-later") as host:
        assert used(host.select_embedder()) == "theirs"
    with load(tmp_path, "embed-theirs,embed-later", provider="later") as host:
        assert used(host.select_embedder()) == "later"


PIPELINE = """
import dataclasses

made = {}

@hookimpl
def register_prompt_sections(ctx):
    made["ready"] = ctx.pipeline()
    made["none"] = ctx.pipeline(dataclasses.replace(ctx.memory_search, provider="none"))
    return []
"""


def test_a_plugin_gets_a_pipeline_with_the_reason_for_it(tmp_path: Path, write_plugin: Any) -> None:
    write_plugin("embed-theirs", REGISTER.format(name="theirs", order=5))
    write_plugin("user", PIPELINE)
    with load(tmp_path, "embed-theirs,user"):
        made = sys.modules["user"].made
        pipeline, selection = made["ready"]
        assert pipeline.provider is selection.provider
        assert pipeline.embed_documents(["a"]).tolist() == [[1.0, 0.0]]
        assert made["none"] == (None, Selection(None, "none", 'memorySearch.provider is "none"'))


def test_a_clash_of_names_stops_the_host_with_both_names(tmp_path: Path, write_plugin: Any) -> None:
    write_plugin("embed-one", REGISTER.format(name="same", order=5))
    write_plugin("embed-two", REGISTER.format(name="same", order=6))
    with pytest.raises(NameClashError, match="embed-one and embed-two"):
        load(tmp_path, "embed-one,embed-two")


@pytest.mark.parametrize("name", [5, None, ["x"], "", "two words"])
def test_a_name_that_is_none_is_a_diagnostic_and_stops_nothing(tmp_path: Path, write_plugin: Any, name: Any) -> None:
    write_plugin("embed-odd", REGISTER.format(name=name, order=5))
    write_plugin("embed-good", REGISTER.format(name="good", order=6))
    with load(tmp_path, "embed-odd,embed-good") as host:
        assert used(host.select_embedder()) == "good"
        assert [event.plugin for event in host.diagnostics] == ["embed-odd"]
