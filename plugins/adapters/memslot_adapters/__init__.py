"""memslot in agent frameworks: one module for each, which needs that framework and no other."""
