"""ai_evolution: a lab course on how AI agents work together, and the libraries under it.

Importing the package imports nothing else; each library is reached by its own name
(``ai_evolution.a2a``, ``ai_evolution.labs`` ...).
"""

__version__ = "1.0.0"
