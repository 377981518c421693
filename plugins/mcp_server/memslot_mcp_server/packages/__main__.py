"""`python -m memslot_mcp_server.packages DIR [WHEELS]`, for `make dist`."""

from __future__ import annotations

import sys
from pathlib import Path

from memslot_mcp_server.packages.export import export_packages

if __name__ == "__main__":
    for made in export_packages(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None):
        print(made)
