"""Secret detection, used wherever text is stored, recalled, shown or logged."""
