"""``python -m ai_evolution`` is the command ``ai-evolution``."""

import sys

from ai_evolution.cli import entry

if __name__ == "__main__":
    sys.exit(entry())
