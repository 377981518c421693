"""The nearest vectors: three engines behind one small interface, with the same answers."""
