"""Embedding providers: the contract, and the choice between them."""
