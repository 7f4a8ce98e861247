#!/usr/bin/env python3
"""Write the block of papers in the pages of the classes; with ``--check``, exit 1 when one is stale.

What is known about each stands in ``papers/catalog/papers.json``; which ones a class shows, and in which
order, in ``classes/catalogue.toml``. Nothing is written from catalogues with a problem in them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ai_evolution.catalog.linking import main

ROOT = Path(__file__).resolve().parent.parent

if __name__ == "__main__":
    sys.exit(main("papers", sys.argv[1:], ROOT))
