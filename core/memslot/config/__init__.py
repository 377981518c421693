"""Configuration: where files live, what may be set, how it is read and changed."""
