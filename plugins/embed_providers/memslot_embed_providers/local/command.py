"""`memslot local-model`: download the model now, rather than in the background of a search."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from memslot import PluginContext, ProviderError

from memslot_embed_providers.local.download import download
from memslot_embed_providers.local.gguf import read_model_file
from memslot_embed_providers.local.model_source import EXAMPLE, HubFile, cache_folder, parse_model_path


def make_command(ctx: PluginContext) -> click.Command:
    @click.command(name="local-model")
    @click.argument("model", required=False)
    def command(model: str | None) -> None:
        """Download MODEL (default: memorySearch.local.modelPath) and print its path.

        \b
        Examples:
          memslot local-model
          memslot local-model hf:owner/repo/file.gguf
        """
        settings = ctx.memory_search.local
        named = model or settings.model_path
        if not named:
            raise ProviderError(f"memorySearch.local.modelPath is not set; try: memslot local-model {EXAMPLE}")
        source = parse_model_path(named)
        path = source
        if isinstance(source, HubFile):
            folder = cache_folder(ctx, settings.model_cache_dir)
            path = download(source, folder, env=os.environ, logger=ctx.logger, progress=_show)
            if sys.stderr.isatty():
                click.echo(err=True)
        assert isinstance(path, Path)
        file = read_model_file(path)
        click.echo(f"{file.name}: {file.architecture}, {file.dims} dimensions", err=True)
        click.echo(str(path))

    return command


def _show(done: int, total: int | None) -> None:
    if sys.stderr.isatty():
        of = f" of {total / 1e6:.0f}" if total else ""
        click.echo(f"\r{done / 1e6:.0f}{of} MB ", err=True, nl=False)
