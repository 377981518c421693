"""`memslot ltm`: long-term memory on the command line."""
