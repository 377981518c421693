"""What `docs/generate.py` writes, one module per part."""
