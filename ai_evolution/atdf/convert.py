"""From any form of tool description to any other, with a complete list of what was lost.

``convert`` translates, translates back, and compares the leaves: what is not there again was lost. So the
list can't forget anything, whatever the two forms are. A description of MCP becomes ATDF 2.x and MCP
again with the very same JSON text, keys and lists in their order.

The version word of a form (``schema_version``) is no content: each writer puts its own. Nothing is
repaired: a document that contradicts itself (two parameters of one name) is refused with
``DocumentError``. Whether the document keeps the rules of its form is asked of ``shapes.validate``, not
here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from ai_evolution.atdf.losses import Conversion, Loss, by_keyword, join, keyword_of, leaves, same
from ai_evolution.atdf.shapes import detect
from ai_evolution.atdf.translation import READ, WRITE, Style, style_of, text_of
from ai_evolution.errors import DocumentError, UsageError

TARGETS = tuple(WRITE)
CATALOGUES = frozenset(("atdf-tools", "mcp"))  # forms whose tools may stand in {"tools": [...]}


def convert(value: Any, to: str, *, source: str | None = None, like: Any = None) -> Conversion:
    """Return a tool description in the form ``to``, with what was lost on the way.

    ``value`` is one description, a list of them, or a tools list (``{"tools": [...]}``). Several come back
    as a list; a tools list stays one when it goes to ``mcp`` or ``atdf-tools``. The result shares what did
    not change with ``value``. ``like`` is an earlier document in the form ``to``: among equal spellings
    (``id`` or ``tool_id``, the words of examples) the result takes those of that one. ``source`` is detected
    when it is not given.

    Raises ``UsageError`` for an unknown form, ``DocumentError`` for a document that can't be read as one.
    """
    if to not in WRITE:
        raise UsageError(f"no form {to!r}; accepted: {', '.join(TARGETS)}")
    if source is not None and source not in READ:
        raise UsageError(f"no form {source!r}; accepted: {', '.join(READ)}")
    entries, around = _entries(value, source)
    listed = to == "atdf-tools"
    several = isinstance(value, list) or around is not None
    documents: list[Any] = []
    losses: list[Loss] = []
    derived: list[str] = []
    if (
        source is None
        and around is not None
        and all(isinstance(one, dict) and "inputSchema" in one for _, one in entries)
    ):
        source = source_of(value)
    models = [one for _, one in _entries(like, to)[0]] if like is not None else []
    for position, (at, entry) in enumerate(entries):
        form = source or source_of(entry)
        style = style_of(models[position], to) if position < len(models) else {}
        document, lost, made = _convert_one(entry, form, to, at, style)
        place = join(position) if several else ""
        if listed or (around is not None and to in CATALOGUES):
            place = join("tools", position)
        documents.append(document)
        losses += [Loss(at + loss.pointer, loss.value, loss.why) for loss in lost]
        derived += [place + pointer for pointer in made]
    whole: Any = documents if several else documents[0]
    if around is not None and to in CATALOGUES:
        whole = {key: documents if key == "tools" else value[key] for key in value}
    elif listed:
        whole = {"tools": documents}
    else:
        losses += [Loss(join(k), v, f"{to} has no list around its tools") for k, v in (around or {}).items()]
    return Conversion(whole, tuple(losses), tuple(derived))


def _entries(value: Any, source: str | None) -> tuple[list[tuple[str, Any]], dict[str, Any] | None]:
    """Return each tool with its pointer, and what stands around them in a tools list."""
    if isinstance(value, list):
        return [(join(i), one) for i, one in enumerate(value)], None
    tools = value.get("tools") if isinstance(value, dict) else None
    if isinstance(tools, list) and (source is None or source in CATALOGUES):
        around = {key: one for key, one in value.items() if key != "tools"}
        return [(join("tools", i), one) for i, one in enumerate(tools)], around
    return [("", value)], None


def _convert_one(
    value: Any, source: str, to: str, at: str, wanted: Style
) -> tuple[Any, list[Loss], list[str]]:
    if source == to:
        return value, [], []
    try:
        document, derived = WRITE[to](READ[source](value), wanted)
        back, _ = WRITE[source](READ[to](document), style_of(value, source))
        return document, losses_between(value, back, to), derived
    except DocumentError as error:
        raise DocumentError(
            f"{at}{error}" if str(error).startswith("/") else f"{at} {error}".strip()
        ) from None
    except RecursionError:
        raise DocumentError(f"{at or '(root)'}: nested too deep to be converted") from None


def losses_between(before: Any, after: Any, to: str) -> list[Loss]:
    """Return what of ``before`` is not in ``after``, whole branches in one, in document order."""
    if text_of(before) == text_of(after):
        return []
    had, kept = dict(leaves(before)), dict(leaves(after))
    gone = [at for at, value in had.items() if at not in kept or not same(kept[at], value)]
    if not gone:
        return []
    total: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    is_gone = set(gone)
    for pointer in had:
        ancestors = _ancestors(pointer)
        total.update(ancestors)
        if pointer in is_gone:
            lost.update(ancestors)
    there = {branch for pointer in kept for branch in _ancestors(pointer)}
    roots = dict.fromkeys(
        next(one for one in _ancestors(at) if one == at or (lost[one] == total[one] and one not in there))
        for at in gone
    )
    return [Loss(root, _at(before, root), _why(root, kept, to)) for root in roots]


def _ancestors(pointer: str) -> list[str]:
    """Return the branches that hold a leaf, the outermost first, and then the leaf itself."""
    if not pointer:
        return [""]
    return list(accumulate(pointer[1:].split("/"), "{}/{}".format, initial=""))[1:]


def _at(value: Any, pointer: str) -> Any:
    for token in pointer.split("/")[1:]:
        value = (
            value[int(token)]
            if isinstance(value, list)
            else value[token.replace("~1", "/").replace("~0", "~")]
        )
    return value


def _why(pointer: str, kept: Mapping[str, Any], to: str) -> str:
    if pointer in kept:
        return f"in {to} it becomes {text_of(kept[pointer])[:60]}"
    return f"{to} has no place for {keyword_of(pointer) or 'it'}"


def count_losses(values: Any, to: str, *, source: str | None = None) -> dict[str, int]:
    """Return how many times each keyword is lost on the way to a form."""
    return by_keyword(convert(values, to, source=source).losses)


def tools_losing(tools: Any, to: str, *, source: str | None = None) -> dict[str, int]:
    """Return, for each keyword, how many of these tools lose it at least once on the way to a form."""
    entries, _ = _entries(tools, source)
    counted: Counter[str] = Counter()
    for _, entry in entries:
        counted.update(by_keyword(convert(entry, to, source=source).losses).keys())
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def source_of(value: Any) -> str:
    """Return which form a description has; ``DocumentError`` when it has none that is known."""
    if isinstance(value, dict):
        if isinstance(value.get("function"), dict) or value.get("type") == "function":
            return "openai"
        if "input_schema" in value and "name" in value:
            return "anthropic"
    found = detect(value)
    if found.form is None:
        raise DocumentError(f"of no known form: {'; '.join(found.why)}")
    return found.form
