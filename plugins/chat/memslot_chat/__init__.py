"""`memslot chat`: a small agent on any OpenAI-compatible chat endpoint, with memory, tools and sessions."""
