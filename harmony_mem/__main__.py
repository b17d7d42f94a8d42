"""`python -m harmony_mem` is the command harmony-mem."""

from __future__ import annotations

import sys

from harmony_mem.cli import main

if __name__ == "__main__":
    sys.exit(main())
