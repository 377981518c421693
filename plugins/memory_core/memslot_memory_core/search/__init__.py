"""Search: candidates from both legs, ranking, and the lines to show."""
