"""memslot in the package formats of its clients, all made from one description.

Nothing but the standard library is imported here: `make dist` runs it from the wheel alone.
"""
