"""`memslot.wrap` for clients of the openai and anthropic SDKs, neither of which is imported here."""
