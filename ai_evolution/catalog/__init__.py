"""The course's catalogues: its classes, the papers behind them, the works that support them.

One source for each (``classes/catalogue.toml``, ``papers/catalog/papers.json``,
``sources/bibliography.json``); everything a page says about them is rendered from there.
Every loader takes the root of the repository and raises :class:`ai_evolution.errors.DocumentError`
when a file cannot be read or has another shape. What only makes sense across the three files
(an orphan, a duplicate, a class that cites nothing) is found by :func:`problems`, which returns
sentences and raises nothing.

It refuses to go online: an identifier is checked for its form and its check digit. Whether a DOI
resolves to the right title is a person's work, recorded in the fields ``verified*``.
"""

from ai_evolution.catalog.check import problems
from ai_evolution.catalog.classes import CourseClass, load_classes
from ai_evolution.catalog.papers import Paper, load_papers
from ai_evolution.catalog.sources import Source, load_sources

__all__ = ["CourseClass", "Paper", "Source", "load_classes", "load_papers", "load_sources", "problems"]
