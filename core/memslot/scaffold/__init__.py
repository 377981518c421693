"""New plugin packages, written from templates."""
