"""The QMD backend: the `qmd` program searches, with the builtin index as its fallback."""
