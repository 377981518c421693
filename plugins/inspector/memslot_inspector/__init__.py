"""The inspector: an agent's memory in the browser, on this machine only."""
