"""What coding agents' own hooks call."""
