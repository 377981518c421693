"""memory-lancedb: long-term memory on LanceDB."""
