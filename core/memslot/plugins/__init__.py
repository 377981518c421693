"""Plugins: found without importing them, switched on by rules, called one by one."""
