"""Embeddings: the provider contract, provider selection, and the batching and retry pipeline."""
