"""`python -m memslot`."""

from memslot.cli import main

main()
