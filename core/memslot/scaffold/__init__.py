"""Generator of new plugin packages from templates."""
