"""Embeddings: what a provider is, the choice between several, and the pipeline that asks one for many texts."""
