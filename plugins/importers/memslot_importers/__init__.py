"""Other programs' conversations, notes and settings, read into memslot's."""
