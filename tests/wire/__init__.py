"""Servers on loopback that speak the wire formats of the embedding providers, and can misbehave on purpose.

Tests get one with the fixture `wire`, in tests/plugins/embed_providers/conftest.py.
"""

from memslot_wire.server import Seen as Seen
from memslot_wire.server import WireServer as WireServer
