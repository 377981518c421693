"""`python -m memslot.cli`."""

from memslot.cli import main

main()
