"""What in a tool's words could mislead the one who reads them: a model, or the person who is asked.

Everything a server says about a tool is a claim by somebody else. ``hazards`` names what is worth a second
look before a model gets to see it; ``shown`` makes visible what was meant not to be seen. Nothing here is
ever obeyed, changed or removed.

* **hidden-character**: characters that print nothing or turn the writing round (zero width, bidi controls,
  the tag characters that carry a whole ASCII text unseen, fillers, private use);
* **instruction**: words that speak to a model and not about a tool ("ignore previous instructions", "do not
  tell the user", "before using any other tool"), read again after the hidden characters are lifted;
* **look-alike**: a name that looks like another one (``pаy`` with a Cyrillic letter, ``read_flle``);
* **collision**: the very name of another tool;
* **long**: more words than a description needs, where something can stand unread.

It refuses to judge: these are heuristics, a clean tool can still lie and a flagged one be honest. The lists
and limits were tried on the 51 tools of six reference servers (see the tests).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from ai_evolution.mcp.definitions import definition

Kind = Literal["instruction", "hidden-character", "look-alike", "collision", "long"]

LONGEST = {"name": 64, "title": 120, "description": 2_000, "elsewhere": 1_200}
"""Characters of a tool's name, title and description, and of any other text in it, that raise no brow."""
DEEPEST = 64
"""Levels of a definition that are read; what lies deeper is itself a hazard (``long``)."""
EXCERPT = 80
_SCANNED = 100_000

_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_EMOJI = frozenset(("So", "Sk"))
_JOINED_SCRIPTS = (
    "ARABIC",
    "DEVANAGARI",
    "BENGALI",
    "TAMIL",
    "TELUGU",
    "KANNADA",
    "MALAYALAM",
    "SINHALA",
    "GUJARATI",
    "GURMUKHI",
    "ORIYA",
    "KHMER",
    "MYANMAR",
    "MONGOLIAN",
    "SYRIAC",
    "NKO",
)
_LOOKS = {
    "a": "аαɑ",
    "b": "ьβ",
    "c": "сϲ",
    "d": "ԁđ",
    "e": "еεє",
    "g": "ɡ",
    "h": "һн",
    "i": "іιı",
    "j": "јϳ",
    "k": "кκ",
    "l": "1|ӏł",
    "m": "м",
    "n": "ν",
    "o": "0оοσø",
    "p": "рρ",
    "q": "ԛ",
    "r": "г",
    "s": "5ѕ",
    "t": "тτ",
    "u": "υ",
    "v": "ѵ",
    "w": "ԝω",
    "x": "хχ",
    "y": "уγ",
    "z": "2ᴢ",
}
_CONFUSABLE = {ord(other): letter for letter, others in _LOOKS.items() for other in others}
_RESEMBLING = frozenset(("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"))
_MOST_ALIKE = 200
"""Names that are compared letter by letter with the known ones."""


@dataclass(frozen=True)
class Hazard:
    """One thing worth a look: in which tool, of what kind, where in its definition (RFC 6901), and the words.

    ``excerpt`` is made of a stranger's text with everything hidden made visible; show it, never obey it.
    """

    tool: str
    kind: Kind
    pointer: str
    excerpt: str


_WORDS: tuple[str, ...] = (
    r"(ignore|disregard|forget|override)\b.{0,40}\b(instruction|prompt|rule|guideline|polic|told)",
    r"(ignor[ae]|olvid[ae]|omite|descarta)\b.{0,40}\b(instruccion|indicacion|regla|norma|polític|politic)",
    r"\b(do not|don'?t|never|without)\b.{0,20}\b(tell|telling|mention|mentioning|inform|informing|reveal|"
    r"revealing|show|showing|notify|notifying|alert|ask|asking)\b.{0,30}\b(user|human|person|anyone|them)\b",
    r"\b(no|nunca|sin)\b.{0,20}\b(digas|decir|dig[ae]|menciones|mencionar|informes|informar|reveles|revelar|"
    r"muestres|mostrar|avises|avisar)\b.{0,30}\b(usuario|usuaria|persona|nadie)\b",
    r"<\s*/?\s*(important|system|instructions?|secret|admin|assistant|importante|sistema)\b[^>]{0,40}>",
    r"\[\s*(system|inst|important)\s*\]|<\|[a-z_]{2,30}\|>|\bsystem prompt\b|\bsystem (message|note)\s*:",
    r"\b(before|prior to|instead of|whenever|every time|each time|after)\b.{0,30}\b(us\w+|call\w*|invok\w+|"
    r"run\w*)\b.{0,20}\b(any|every|all|each|other)\b.{0,15}\btools?\b",
    r"\b(antes de|en lugar de|en vez de|cada vez que|después de)\b.{0,30}\b(us\w+|llam\w+|invoc\w+|"
    r"ejecut\w+)\b.{0,20}\b(cualquier|otras?|todas?|las demás)\b.{0,15}\bherramientas?\b",
    r"\byou (must|have to|are required to|shall|are now|will now|should always)\b",
    r"\b(debes|tienes que|estás obligado a|ahora eres)\b",
    r"\b(read|send|include|pass|attach|upload|post|forward|copy|exfiltrate|provide)\b.{0,60}(~/\.|\.ssh\b|"
    r"\bid_rsa\b|\.env\b|\bmcp\.json\b|\.aws\b|/etc/passwd|\b(conversation|chat) (history|log)\b|"
    r"\b(private|api|secret|access) ?keys?\b|\bcredentials?\b|\bpasswords?\b)",
    r"\b(lee|envía|incluye|adjunta|pasa|sube|copia)\b.{0,60}(~/\.|\.ssh\b|\bid_rsa\b|\.env\b|\bmcp\.json\b|"
    r"\bcontraseñas?\b|\bcredenciales\b|\bclaves? (privadas?|secretas?|api)\b)",
    r"\b(this (instruction|message|note)|these instructions)\b.{0,40}\b(secret|confidential|invisible)",
)
_INSTRUCTION = re.compile("|".join(f"(?:{word})" for word in _WORDS), re.IGNORECASE | re.DOTALL)


def hazards(tools: Iterable[Any], known: Collection[str] = ()) -> list[Hazard]:
    """What in ``tools`` is worth a look, in their order.

    ``tools`` are ``mcp.types.Tool`` or the wire's own dicts; ``known`` are the names of the tools that the
    host already has from other servers: a new one must not have, resemble or speak of one of these.
    """
    definitions = [definition(tool) for tool in tools]
    names = [str(each.get("name", "")) for each in definitions]
    alike: dict[str, list[str]] = {}
    for other in dict.fromkeys(chain(known, names)):
        alike.setdefault(_alike(other), []).append(other)
    found: list[Hazard] = []
    taken = set(known)
    for name, each in zip(names, definitions, strict=True):
        found += _about_the_name(name, name in taken, alike[_alike(name)], known)
        taken.add(name)
        found += _about_the_words(name, each, known)
    return found


def suspicions(text: str) -> list[tuple[Kind, str]]:
    """Hidden characters and instructions in any text (a prompt, a resource, a result): kind and excerpt."""
    found: list[tuple[Kind, str]] = []
    text = text[:_SCANNED]
    places = list(_hidden(text))
    if places:
        smuggled = _tagged(text)
        said = f" carrying {shown(smuggled)!r}" if smuggled else ""
        seen = shown(text[max(0, places[0] - 20) : places[0] + 20])
        found.append(("hidden-character", f"{len(places)} hidden{said}: {seen}"[: 2 * EXCERPT]))
    hidden = frozenset(places)
    lifted = "".join(c for i, c in enumerate(text) if i not in hidden) if places else text
    for read in dict.fromkeys((unicodedata.normalize("NFKC", lifted), _tagged(text))):
        match = _INSTRUCTION.search(read)
        if match:
            found.append(("instruction", _excerpt(read, match.start(), match.end())))
    return found


def shown(text: str) -> str:
    """``text`` with every hidden character written out, ``⟨U+200B⟩``: what a person must get to see."""
    hidden = frozenset(_hidden(text))
    if not hidden:
        return text
    return "".join(f"⟨U+{ord(c):04X}⟩" if i in hidden else c for i, c in enumerate(text))


# --- names


def _about_the_name(name: str, taken: bool, alike: list[str], known: Collection[str]) -> Iterator[Hazard]:
    where = "/name"
    if taken:
        yield Hazard(name, "collision", where, shown(name)[:EXCERPT])
    other = next((each for each in alike if each != name), None)
    if other is not None:
        yield Hazard(name, "look-alike", where, f"{shown(name)} / {shown(other)}"[: 2 * EXCERPT])
        return
    near = next((other for other in list(known)[:_MOST_ALIKE] if _one_apart(name, other)), None)
    if near is not None:
        yield Hazard(name, "look-alike", where, f"{shown(name)} / {shown(near)}"[: 2 * EXCERPT])
    elif _mixed(name):
        yield Hazard(name, "look-alike", where, f"{shown(name)}: letters of more than one script"[:EXCERPT])


def _alike(name: str) -> str:
    plain = unicodedata.normalize("NFKD", "".join(c for c in name if c not in _FILLERS)).casefold()
    kept = "".join(c for c in plain if c == "|" or unicodedata.category(c)[0] in "LN")
    return kept.translate(_CONFUSABLE).replace("rn", "m").replace("vv", "w")


def _one_apart(left: str, right: str) -> bool:
    """One letter changed, left out, added, or two neighbours swapped, in names of five letters or more."""
    if left == right or min(len(left), len(right)) < 5 or abs(len(left) - len(right)) > 1:
        return False
    first = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), None)
    if first is None:
        return True
    a, b = left[first:], right[first:]
    swapped = len(a) == len(b) > 1 and a[0] == b[1] and a[1] == b[0] and a[2:] == b[2:]
    return swapped or a[1:] == b[1:] or a[1:] == b or a == b[1:]


def _mixed(name: str) -> bool:
    return len({unicodedata.name(c, "?").split(" ")[0] for c in name} & _RESEMBLING) > 1


# --- words


def _about_the_words(name: str, tool: Mapping[str, Any], known: Collection[str]) -> Iterator[Hazard]:
    spoken_of = _mention([other for other in known if len(other) > 3 and other != name])
    for pointer, text in _texts(tool, "", 0):
        if text is None:
            yield Hazard(name, "long", pointer, f"nested over {DEEPEST} levels deep")
            continue
        for kind, excerpt in suspicions(text):
            yield Hazard(name, kind, pointer, excerpt)
        mention = spoken_of.search(text[:_SCANNED]) if spoken_of and pointer != "/name" else None
        if mention:
            yield Hazard(name, "instruction", pointer, _excerpt(text, mention.start(), mention.end()))
        limit = LONGEST.get(pointer[1:], LONGEST["elsewhere"])
        if len(text) > limit:
            yield Hazard(name, "long", pointer, f"{len(text)} characters: {shown(text[:40])}...")


def _mention(names: list[str]) -> re.Pattern[str] | None:
    """Another server's tool spoken of by its name: how one server bends the use of another (shadowing)."""
    telling = [other for other in names if re.search(r"[_\-A-Z]", other[1:])]
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, telling))})(?!\w)") if telling else None


def _texts(value: Any, pointer: str, depth: int) -> Iterator[tuple[str, str | None]]:
    """Every string in a definition, member names too, with where it stands; None where it gets too deep."""
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, (Mapping, list, tuple)):
        if depth > DEEPEST:
            yield pointer, None
            return
        named = isinstance(value, Mapping)
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            below = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
            if named and depth:
                yield below, str(key)
            yield from _texts(inner, below, depth + 1)


def _excerpt(text: str, start: int, end: int) -> str:
    begin = max(0, start - 10)
    return " ".join(shown(text[begin : max(end, begin + EXCERPT)][: EXCERPT + 20]).split())


# --- characters


def _hidden(text: str) -> Iterator[int]:
    """Where characters stand that print nothing, turn the writing round, or belong to nobody."""
    if text.isascii() and text.isprintable():
        return
    for index, character in enumerate(text):
        if character.isprintable() and character not in _FILLERS and not _selector(character):
            continue
        if character in "\n\r\t" or unicodedata.category(character) == "Zs":
            continue
        if not _honest_joiner(text, index, character):
            yield index


def _selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _honest_joiner(text: str, index: int, character: str) -> bool:
    """A joiner or selector where writing needs one: in an emoji, or in a script that joins its letters."""
    if index == 0 or character not in "\u200c\u200d\ufe0e\ufe0f":
        return False
    before = text[index - 1]
    if character in "\ufe0e\ufe0f":
        return unicodedata.category(before) in _EMOJI or before in "#*0123456789©®™↔↕‼⁉"
    after = text[index + 1 : index + 2]
    if character == "\u200d" and (before == "\ufe0f" or unicodedata.category(before) in _EMOJI):
        return bool(after) and unicodedata.category(after) in _EMOJI
    return unicodedata.name(before, "").startswith(_JOINED_SCRIPTS)


def _tagged(text: str) -> str:
    """The ASCII that tag characters carry, and what variation selectors carry as bytes; empty when none."""
    tags = [chr(ord(c) - 0xE0000) for c in text if 0xE0020 <= ord(c) <= 0xE007E]
    found = [ord(c) - 0xE0100 + 16 for c in text if 0xE0100 <= ord(c) <= 0xE01EF]
    return "".join(tags) + bytes(found).decode("utf-8", "replace")
