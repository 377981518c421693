"""Whether a plugin is right: its files read without running it, then a trial run in a process of its own."""
