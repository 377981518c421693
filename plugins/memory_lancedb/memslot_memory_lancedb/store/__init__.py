"""Where memories are kept: rows on LanceDB, each query bound to one owner."""
