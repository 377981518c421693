"""What is worth keeping of what a person said: pure rules over one text, without a store and without a model."""
