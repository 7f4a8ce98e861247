"""How alike two files are, as a hint for a person; nothing is ever deducted for it.

Names, texts and comments are taken away, what remains is cut into runs of ``RUN`` tokens, and the
runs that the starter has too are taken away as well. The likeness of two files is what they share
of all that they have (Jaccard). Two honest solutions of one small exercise stay far below ``ALIKE``.
"""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Iterator, Mapping
from itertools import combinations

RUN = 12
ALIKE = 0.8
LEAST = 40
_SKIPPED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
}


def runs(source: bytes) -> frozenset[int]:
    """The runs of tokens of a Python file; of what could be read when it is broken."""
    tokens = list(_tokens(source))
    return frozenset(hash(tuple(tokens[n : n + RUN])) for n in range(len(tokens) - RUN + 1))


def _tokens(source: bytes) -> Iterator[int]:
    try:
        for token in tokenize.tokenize(io.BytesIO(source).readline):
            if token.type in _SKIPPED:
                continue
            plain = token.type == tokenize.NAME and not keyword.iskeyword(token.string)
            kept = "" if plain or token.type in (tokenize.STRING, tokenize.NUMBER) else token.string
            yield hash((token.type, _stable(kept)))
    except Exception:  # whatever a broken file does to the tokenizer; this is a hint only
        return


def _stable(text: str) -> int:
    return int.from_bytes(text.encode("utf-8", "replace")[:16], "big")


def alike(built: Mapping[str, bytes], starter: bytes = b"") -> Iterator[tuple[str, str, float]]:
    """Pairs of students whose files are alike, with the likeness from ``ALIKE`` to 1."""
    given = runs(starter)
    read = {
        student: found - given for student, source in built.items() if len(found := runs(source)) >= LEAST
    }
    for one, other in combinations(sorted(read), 2):
        union = len(read[one] | read[other])
        share = len(read[one] & read[other]) / union if union else 0.0
        if share >= ALIKE:
            yield one, other, round(share, 2)
