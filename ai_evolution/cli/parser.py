"""Arguments: argparse with our one-line errors, in the reader's language.

Only the parser of the command that was typed is ever built. What argparse would print on two
lines and end the process with becomes one ``UsageError`` that says what was given, what would
be accepted, and the nearest word to it. Long options are never abbreviated, so that adding one
can't change what an old script means.
"""

from __future__ import annotations

import argparse
import re
import sys

from ai_evolution.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, NoReturn

    from ai_evolution.cli.show import Screen

LANGUAGES = ("en", "es")

HELP = {"en": "show this help and end", "es": "muestra esta ayuda y termina"}
LANG = {"en": "language of the messages: en or es (default: your locale's)",
        "es": "idioma de los mensajes: en o es (por defecto, el de tu sistema)"}  # fmt: skip
DEBUG = {"en": "show the traceback of an error", "es": "muestra la traza completa de un error"}
GIVEN = {"en": "arguments", "es": "argumentos"}
OPTIONS = {"en": "options", "es": "opciones"}
USAGE = {"en": "usage: ", "es": "uso: "}
ACCEPTED = {"en": "accepted: {names}", "es": "se acepta: {names}"}
NEAREST = {"en": "did you mean {name}?", "es": "¿querías decir {name}?"}

UNKNOWN_LANGUAGE = {
    "en": "--lang {given!r} is not a language of this command; accepted: en, es",
    "es": "--lang {given!r} no es un idioma de esta orden; se acepta: en, es",
}
UNKNOWN_COMMAND = {
    "en": "{given!r} is not a command of {prog}; {hint}",
    "es": "{given!r} no es una orden de {prog}; {hint}",
}
UNKNOWN_OPTION = {
    "en": "{prog} does not understand {given}; {hint}",
    "es": "{prog} no entiende {given}; {hint}",
}
MISSING = {"en": "{prog} needs {names}; {usage}", "es": "{prog} necesita {names}; {usage}"}
NO_VALUE = {
    "en": "{prog} {name} needs a value and got none",
    "es": "{prog} {name} necesita un valor y no lo tiene",
}
FLAG_VALUE = {
    "en": "{prog} {name} takes no value, and was given {given}",
    "es": "{prog} {name} no admite valor, y se le dio {given}",
}
TOGETHER = {
    "en": "{prog}: {name} and {other} cannot be used together",
    "es": "{prog}: {name} y {other} no se pueden usar a la vez",
}
NOT_A_NUMBER = {
    "en": "{name} {given!r} is not a whole number from {low} to {high}",
    "es": "{name} {given!r} no es un número entero de {low} a {high}",
}
NOT_A_CHOICE = {
    "en": "{name} {given!r} is not known; {hint}",
    "es": "{name} {given!r} no se conoce; {hint}",
}
NOT_A_PAIR = {
    "en": "--param {given!r} is not KEY=VALUE; for example --param candidates=3",
    "es": "--param {given!r} no tiene la forma CLAVE=VALOR; por ejemplo, --param candidates=3",
}


def nearest(given: str, names: Iterable[str], lang: str) -> str:
    """``did you mean X?`` when a name is close to ``given``, then all the names that are accepted."""
    from difflib import get_close_matches

    known = list(names)
    close = get_close_matches(given.lower(), known, n=1, cutoff=0.5)
    said = [NEAREST[lang].format(name=close[0])] if close else []
    return " ".join([*said, ACCEPTED[lang].format(names=", ".join(known))])


class _Formatter(argparse.HelpFormatter):
    lang = "en"

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, prefix or USAGE[self.lang])


class _SpanishFormatter(_Formatter):
    lang = "es"


class Parser(argparse.ArgumentParser):
    """The arguments of one command. ``parse`` returns the namespace or raises ``UsageError``."""

    def __init__(self, prog: str, lang: str, describes: str, epilog: str | None = None) -> None:
        super().__init__(
            prog=prog,
            description=describes,
            epilog=epilog,
            add_help=False,
            allow_abbrev=False,
            formatter_class=_SpanishFormatter if lang == "es" else _Formatter,
        )
        self.lang = lang
        self.given = self.add_argument_group(GIVEN[lang])
        self.options = self.add_argument_group(OPTIONS[lang])
        self._places: list[str] = []
        self._flags: list[str] = []

    def argument(self, name: str, text: dict[str, str], **more: Any) -> None:
        """One positional argument, with its help in both languages."""
        self._places.append(str(more.get("metavar", name)))
        self.given.add_argument(name, help=text[self.lang], **more)

    def option(self, *names: str, text: dict[str, str], **more: Any) -> None:
        """One option, with its help in both languages."""
        self._flags.extend(names)
        self.options.add_argument(*names, help=text[self.lang].replace("%", "%%"), **more)

    def either(self, *options: tuple[str, dict[str, str]]) -> None:
        """Switches of which at most one may be given."""
        group = self.options.add_mutually_exclusive_group()
        for name, text in options:
            self._flags.append(name)
            group.add_argument(name, action="store_true", help=text[self.lang])

    def common(self) -> None:
        """The three options that every command has."""
        self.option("--lang", text=LANG, metavar="en|es")
        self.option("--debug", text=DEBUG, action="store_true")
        self.option("-h", "--help", text=HELP, action="help")

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """The arguments, or ``UsageError`` in one line; ``--help`` prints and raises ``SystemExit(0)``."""
        known, rest = self.parse_known_args(list(argv))
        if rest:
            first = rest[0]
            names = self._flags if first.startswith("-") or not self._places else self._places
            self._refuse(UNKNOWN_OPTION, given=first, hint=nearest(first, names, self.lang))
        return known

    def error(self, message: str) -> NoReturn:
        """argparse's own complaint, said our way."""
        name = _first(r"^argument ([^:]+):", message).split("/")[-1]
        if missing := _first(r"arguments are required: (.+)$", message):
            self._refuse(MISSING, names=missing, usage=" ".join(self.format_usage().split()))
        if "expected" in message and "argument" in message and name:
            self._refuse(NO_VALUE, name=name)
        if given := _first(r"ignored explicit argument (.+)$", message):
            self._refuse(FLAG_VALUE, name=name, given=given)
        if other := _first(r"not allowed with argument (.+)$", message):
            self._refuse(TOGETHER, name=name, other=other.split("/")[-1])
        raise UsageError(f"{self.prog}: {message}")

    def _refuse(self, text: dict[str, str], **values: object) -> NoReturn:
        name = self.prog.removeprefix("ai-evolution ")
        raise UsageError(text[self.lang].format(prog=name, **values))


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found.group(1) if found else ""


# ------------------------------------------------------------------------ kinds of value


def whole(name: str, lang: str, low: int = 0, high: int = 2**53 - 1) -> Callable[[str], int]:
    """A reader of whole numbers from ``low`` to ``high``; anything else is a ``UsageError``."""

    def read(given: str) -> int:
        plain = given.strip().isascii() and given.strip().lstrip("+-").isdigit() and len(given) < 20
        number = int(given) if plain else low - 1
        if not low <= number <= high:
            raise UsageError(NOT_A_NUMBER[lang].format(name=name, given=given, low=low, high=high))
        return number

    return read


def choice(name: str, names: Iterable[str], lang: str) -> Callable[[str], str]:
    """A reader of one of ``names``; anything else is a ``UsageError`` with the nearest one."""

    def read(given: str) -> str:
        known = list(names)
        if given not in known:
            hint = nearest(given, known, lang)
            raise UsageError(NOT_A_CHOICE[lang].format(name=name, given=given, hint=hint))
        return given

    return read


def pair(lang: str) -> Callable[[str], tuple[str, Any]]:
    """A reader of ``KEY=VALUE``. The value is read as JSON when it is JSON, and is a string otherwise."""

    def read(given: str) -> tuple[str, Any]:
        import json

        key, equals, value = given.partition("=")
        if not equals or not key.strip():
            raise UsageError(NOT_A_PAIR[lang].format(given=given))
        try:
            return key.strip(), json.loads(value)
        except (ValueError, RecursionError):
            return key.strip(), value

    return read


# ------------------------------------------------------------------------ tables of commands


class Command:
    """One row of a table of commands: what it is for, its arguments, and what runs it.

    ``load`` is a function with a plain import in it, called only when the command was typed; it
    returns the two functions ``arguments(parser)`` and ``call(arguments, screen) -> exit code``.
    """

    __slots__ = ("load", "says")

    def __init__(self, says: dict[str, str], load: Callable[[], tuple[Arguments, Call]]) -> None:
        self.says = says
        self.load = load


class Group:
    """One row that stands for a table of its own, which ``load`` returns."""

    __slots__ = ("load", "says")

    def __init__(self, says: dict[str, str], load: Callable[[], dict[str, Command]]) -> None:
        self.says = says
        self.load = load


if TYPE_CHECKING:
    Arguments = Callable[[Parser], None]
    Call = Callable[[argparse.Namespace, Screen], int]


def dispatch(
    prog: str, table: Mapping[str, Command | Group], says: dict[str, str], argv: Sequence[str], screen: Screen
) -> int:
    """Find the command that ``argv`` names in ``table``, read its arguments and run it.

    Returns the exit code. Without a command the help is printed, and the exit code is 2 because
    nothing was asked for. ``UsageError`` for an unknown command, with the nearest one.
    """
    lang = screen.lang
    at = 0
    while at < len(argv) and argv[at].startswith("-"):
        at += 2 if argv[at] == "--lang" else 1
    top = _top(prog, table, says, lang)
    top.parse(argv[:at])
    if at >= len(argv):
        top.print_help(sys.stderr)
        return 2
    name = argv[at]
    if name not in table:
        hint = nearest(name, table, lang)
        raise UsageError(UNKNOWN_COMMAND[lang].format(given=name, prog=prog, hint=hint))
    row = table[name]
    if isinstance(row, Group):
        return dispatch(f"{prog} {name}", row.load(), row.says, argv[at + 1 :], screen)
    arguments, call = row.load()
    parser = Parser(f"{prog} {name}", lang, row.says[lang])
    arguments(parser)
    parser.common()
    return call(parser.parse(argv[at + 1 :]), screen)


def _top(prog: str, table: Mapping[str, Command | Group], says: dict[str, str], lang: str) -> Parser:
    wide = max(map(len, table)) + 2
    rows = [f"  {name:<{wide}}{command.says[lang]}" for name, command in table.items()]
    heading = {"en": "commands:", "es": "órdenes:"}[lang]
    more = {
        "en": f"{prog} COMMAND --help says what a command takes.",
        "es": f"{prog} ORDEN --help explica los argumentos de una orden.",
    }[lang]
    parser = Parser(prog, lang, says[lang], "\n".join([heading, *rows, "", more]))
    parser.formatter_class = _RawSpanish if lang == "es" else _Raw
    word = {"en": "COMMAND", "es": "ORDEN"}[lang]
    parser.usage = f"{prog} [--lang en|es] [--debug] {word} ..."
    parser.common()
    if " " not in prog:
        from ai_evolution import __version__

        text = {"en": "print the version and end", "es": "muestra la versión y termina"}
        parser.option("--version", text=text, action="version", version=f"{prog} {__version__}")
    return parser


class _Raw(_Formatter, argparse.RawDescriptionHelpFormatter):
    pass


class _RawSpanish(_SpanishFormatter, argparse.RawDescriptionHelpFormatter):
    pass


def language(argv: Sequence[str], environment: dict[str, str]) -> str:
    """``en`` or ``es``: what ``--lang`` says, else what the locale says, else ``en``.

    ``UsageError`` when ``--lang`` names a language there are no messages in.
    """
    default = _locale(environment)
    for at, word in enumerate(argv):
        if word == "--":
            break
        given = argv[at + 1] if word == "--lang" and at + 1 < len(argv) else None
        if word.startswith("--lang="):
            given = word.removeprefix("--lang=")
        if given is not None:
            if given not in LANGUAGES:
                raise UsageError(UNKNOWN_LANGUAGE[default].format(given=given))
            return given
    return default


def _locale(environment: dict[str, str]) -> str:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environment.get(name):
            return "es" if environment[name].lower().startswith("es") else "en"
    if sys.platform == "win32":
        import ctypes

        spanish = 0x0A  # LANG_SPANISH, the low ten bits of a Windows language identifier
        return "es" if ctypes.windll.kernel32.GetUserDefaultUILanguage() & 0x3FF == spanish else "en"
    return "en"
