"""The QMD backend: the `qmd` program searches, and the builtin index stands in when it cannot."""
