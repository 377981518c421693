"""One table of what secrets look like, used wherever text is stored, recalled, shown or logged."""
