"""Configuration: file locations, the model, loading and editing."""
