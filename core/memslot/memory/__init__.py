"""The memory slot: what a memory offers to the host, and how recalled text is made safe."""
