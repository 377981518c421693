"""The store: LanceDB tables, with every query restricted to one owner."""
