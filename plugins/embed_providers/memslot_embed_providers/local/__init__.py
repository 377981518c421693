"""The provider `local`: a GGUF model on this machine, through llama.cpp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memslot import EmbeddingProviderSpec, PluginContext, hookimpl

from memslot_embed_providers.local.provider import LocalModels

if TYPE_CHECKING:
    import click


@hookimpl
def register_embedding_providers(ctx: PluginContext) -> list[EmbeddingProviderSpec]:
    models = LocalModels(ctx)
    return [EmbeddingProviderSpec("local", models.create, missing=models.missing, auto_order=10, sends_text_away=False)]


@hookimpl
def register_commands(ctx: PluginContext, cli: click.Group) -> None:
    from memslot_embed_providers.local.command import make_command

    cli.add_command(make_command(ctx))
