"""From the disk to chunks: which files count, what their lines are, and how the lines are cut."""
