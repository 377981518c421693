"""Vector search: three engines behind one interface, with identical results."""
