"""once, when the plugin is activated. `create` is called later, when the provider is first chosen, so the hook
itself stays quick and loads no model."""

from collections.abc import Sequence

from memslot import EmbeddingProviderSpec, PluginContext, ProviderOptions, hookimpl


class LengthProvider:
    """Not a clever one: texts of like length are alike."""

    id, model, dims, max_input_tokens = "length", "length-1", 2, 8192

    def embed_query(self, text: str) -> list[float]:
        return [1.0, float(len(text))]

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def create(options: ProviderOptions) -> LengthProvider:
    return LengthProvider()


@hookimpl
def register_embedding_providers(ctx: PluginContext) -> list[EmbeddingProviderSpec]:
    return [EmbeddingProviderSpec("length", create, sends_text_away=False)]
