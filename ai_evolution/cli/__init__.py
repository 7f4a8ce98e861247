"""The command line: arguments, printing, exit codes.

``entry`` is what ``ai-evolution`` and ``python -m ai_evolution`` call; ``lab`` is what a class's
``lab.py`` calls. Nothing here knows how a lab, a judge or a grader works: it asks them, shows
what they say, and ends with 0 (it holds), 1 (something does not hold) or 2 (the call was wrong).
Asking for help imports argparse and nothing heavier.
"""

from ai_evolution.cli.main import entry, lab

__all__ = ["entry", "lab"]
