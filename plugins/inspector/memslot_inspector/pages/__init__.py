"""The pages: each takes a visit and answers with HTML or with where to go."""
