"""Agent runs: what happens before, during and after an agent works on a prompt."""
