"""Sources: file discovery, reading, and chunking."""
