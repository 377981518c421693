"""Plugin validation: static checks of its files, then a trial run in a separate process."""
