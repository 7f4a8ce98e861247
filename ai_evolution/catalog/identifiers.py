"""Form and check digits of the identifiers that a bibliography carries.

A DOI, an arXiv id and a URL have no check digit: only their form can be wrong here. An ISBN-13 has
one, and it proves that the number was copied well, never that it belongs to the edition beside it.
"""

from __future__ import annotations

import re

_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>]+")
_ARXIV = re.compile(r"(\d{2})(0[1-9]|1[0-2])\.\d{4,5}(v\d+)?")
_URL = re.compile(r"https?://[^\s/$.?#][^\s]*\.[^\s]+")


def isbn13_holds(text: str) -> bool:
    """True when ``text`` is thirteen digits of an ISBN whose check digit is right (ISO 2108)."""
    if not re.fullmatch(r"97[89]\d{10}", text):
        return False
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(text)) % 10 == 0


def doi_holds(text: str) -> bool:
    """True when ``text`` has the form of a DOI."""
    return _DOI.fullmatch(text) is not None


def arxiv_year(text: str) -> int | None:
    """The year that an arXiv id of the present style (YYMM.NNNNN) carries, or None if it is no such id."""
    match = _ARXIV.fullmatch(text)
    return 2000 + int(match[1]) if match else None


def url_holds(text: str) -> bool:
    """True when ``text`` has the form of an absolute http or https address."""
    return _URL.fullmatch(text) is not None


def latex_holds(text: str) -> bool:
    """True when braces and ``\\left``/``\\right`` are balanced and no ``$`` is inside."""
    depth = 0
    for char in re.sub(r"\\[{}]", "", text):
        depth += (char == "{") - (char == "}")
        if depth < 0:
            return False
    pairs = len(re.findall(r"\\left(?![a-zA-Z])", text)) == len(re.findall(r"\\right(?![a-zA-Z])", text))
    return depth == 0 and pairs and "$" not in text
