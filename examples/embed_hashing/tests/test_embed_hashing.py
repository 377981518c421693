"""The provider on its own, and as the host sees it."""

from embed_hashing import HashingProvider
from memslot.testing import EmbeddingProviderContract, HostOpener


class TestHashing(EmbeddingProviderContract):
    def make_provider(self) -> HashingProvider:
        return HashingProvider()


class TestFewDimensions(EmbeddingProviderContract):
    def make_provider(self) -> HashingProvider:
        return HashingProvider(16)


def test_forms_of_a_word_are_near() -> None:
    provider = HashingProvider()
    query = provider.embed_query("deploying")
    near, far = provider.embed_documents(["deployed", "marmalade"])
    assert _cosine(query, near) > 0.3 > _cosine(query, far)


def test_its_settings_reach_it(memslot_host: HostOpener) -> None:
    config = {
        "agents": {"defaults": {"memorySearch": {"provider": "hashing"}}},
        "plugins": {"entries": {"embed-hashing": {"config": {"dimensions": 64}}}},
    }
    selection = memslot_host("embed-hashing", config=config).select_embedder()
    assert selection.provider is not None, selection.reason
    assert selection.provider.dims == 64


def _cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))
