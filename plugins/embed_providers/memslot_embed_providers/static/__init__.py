"""Meaning without a key, a download or a network: a vector for each token, from weights inside a package."""
