"""Embedding with the agent's provider."""
