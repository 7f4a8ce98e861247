"""Class 131: what do a tool and its caller owe each other, and who is to blame?

Run `python lab.py`; `python lab.py --help` lists what else it accepts.
"""

try:
    from ai_evolution.cli import lab
except ModuleNotFoundError as missing:
    raise SystemExit(f"{missing}. From the repository: python3 scripts/course.py lab 131") from None

raise SystemExit(lab("contracts"))
