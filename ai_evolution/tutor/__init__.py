"""The course as an MCP server, so that any agent can be a student's tutor.

* ``course``  what the course itself offers: its classes, running a lab, verifying evidence, checking an
  exercise
* ``pages``   the class pages as resources, and the prompt that makes a tutor of a model
* ``server``  all of it in one server, with the tools of the classes

It serves; it decides nothing that ``labs`` and ``grading`` do not decide, and grades nobody.
"""

from __future__ import annotations

from typing import Any

__all__ = ["course_server"]


def __getattr__(name: str) -> Any:
    """``course_server`` on first use: the SDK takes a second to import."""
    if name == "course_server":
        from ai_evolution.tutor.server import course_server

        return course_server
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
