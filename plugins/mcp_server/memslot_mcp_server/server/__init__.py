"""What a host offers, told in the Model Context Protocol."""
