"""Text to vectors, by whichever provider the agent uses, and what that provider cannot do."""
