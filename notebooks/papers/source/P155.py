# P155, the confused deputy: the code of both editions of the miniature. Built by scripts/build_notebooks.py.
# Tables and no plot: to import matplotlib costs more than all the rest of this notebook.
# %% setup
from contextlib import suppress
from dataclasses import dataclass
from itertools import product

LANG = "en"


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


# %% world
STAT, BILL = "SYS/stat", "SYS/bill"
FILES = (STAT, BILL, "ana/out", "ana/src", "ben/out", "ben/src")
CALLERS = ("ana", "ben")
LICENCE = {STAT, BILL}  # what the compiler may write in its home, whoever calls it


def own(caller):
    """What a caller may write."""
    return {name for name in FILES if name.startswith(f"{caller}/")}


class Refused(Exception):
    """Somebody asked for more than they may."""


class Disk:
    """Files, and one gate: whoever opens shows a set of rights. Keeps who opened what for whom."""

    def __init__(self):
        self.log = []

    def opened(self, name, rights, on_behalf_of):
        """A handle: a function that writes. Refused when the name is not among the rights."""
        if name not in rights:
            raise Refused(name)
        return lambda text: self.log.append((on_behalf_of, name, text))


def compile_for(caller, output, disk):
    """The story: it runs as the caller with the licence on top, one set of rights for both files."""
    rights = own(caller) | LICENCE
    disk.opened(output, rights, caller)("debug")
    disk.opened(STAT, rights, "compiler")("statistics")


for output in ("ana/out", "ben/out", BILL):
    disk = Disk()
    try:
        compile_for("ana", output, disk)
        print(f"{output:<9}", [(who, name) for who, name, _ in disk.log])
    except Refused as refusal:
        print(f"{output:<9}", tr("refused:", "rechazado:"), refusal)

# %% predict
PREDICTION = {  # twelve runs: two callers, six names for the output; four of the names are the caller's own
    "harmful runs, licence on top": None,
    "harmful runs, only what both may": None,
    "statistics written, only what both may": None,
}


# %% rules
def union(caller, output, disk):
    compile_for(caller, output, disk)


def intersection(caller, output, disk):
    """Every file is opened with what the compiler *and* the caller may."""
    rights = (own(caller) | LICENCE) & own(caller)
    disk.opened(output, rights, caller)("debug")
    disk.opened(STAT, rights, "compiler")("statistics")


def forbidden(caller, output, disk):
    """The compiler knows one name that it must not take."""
    if output == BILL:
        raise Refused(output)
    compile_for(caller, output, disk)


def per_use(caller, output, disk):
    """The compiler says for each file in whose name it opens it."""
    disk.opened(output, own(caller), caller)("debug")
    disk.opened(STAT, LICENCE, "compiler")("statistics")


def capability(caller, output, disk):
    """The caller opens the file and hands over the handle: what is named comes with the right to it."""
    handle = disk.opened(output, own(caller), caller)  # on the caller's side
    compiler(handle, disk.opened(STAT, LICENCE, "compiler"))


def compiler(debug, statistics):
    """No name, no rights, nothing to check: it can write where it was handed a handle."""
    debug("debug")
    statistics("statistics")


RULES = {
    tr("licence on top", "licencia encima"): union,
    tr("only what both may", "solo lo que pueden ambos"): intersection,
    tr("one name forbidden", "un nombre prohibido"): forbidden,
    tr("a set for each use", "un conjunto por uso"): per_use,
    tr("open files handed over", "ficheros ya abiertos"): capability,
}


def judge(rule):
    """All twelve runs: honest ones served, harmful ones, and statistics written."""
    served = harm = counted = 0
    for caller, output in product(CALLERS, FILES):
        disk = Disk()
        with suppress(Refused):
            rule(caller, output, disk)
        written = {(who, name) for who, name, _ in disk.log}
        harm += any(who == caller and name not in own(caller) for who, name in written)
        served += output in own(caller) and (caller, output) in written
        counted += ("compiler", STAT) in written
    return served, harm, counted


print(
    tr(f"{'rule':<26}served of 4  harmful  statistics", f"{'regla':<24}servidas de 4  dañinas  estadísticas")
)
table = {rule: judge(rule) for rule in RULES.values()}
for name, rule in RULES.items():
    served, harm, counted = table[rule]
    print(f"{name:<26}{served:>11}{harm:>9}{counted:>12}")
assert table == {
    union: (4, 4, 8),
    intersection: (4, 0, 0),
    forbidden: (4, 2, 6),
    per_use: (4, 0, 4),
    capability: (4, 0, 4),
}

# %% compare
measured = {
    "harmful runs, licence on top": table[union][1],
    "harmful runs, only what both may": table[intersection][1],
    "statistics written, only what both may": table[intersection][2],
}
for name, value in measured.items():
    print(f"{name:<40}{tr('predicted', 'predicho')} {PREDICTION[name]}, {tr('counted', 'contado')} {value}")


# %% race
def ask_first(moment):
    """The compiler asks whether Ana may write ``ana/out``, then opens the name with its own rights.

    Ana makes her name point to the bill at one of three moments. True: the bill was written over.
    """
    points_to = {"ana/out": "ana/out"}
    if moment == "before":
        points_to["ana/out"] = BILL
    if points_to["ana/out"] not in own("ana"):
        return False
    if moment == "between":
        points_to["ana/out"] = BILL
    opened = points_to["ana/out"]
    if moment == "after":
        points_to["ana/out"] = BILL
    return opened == BILL and opened in own("ana") | LICENCE


MOMENTS = {"before": tr("before the question", "antes de preguntar"), "between": tr("in between", "en medio")}
MOMENTS["after"] = tr("after the opening", "después de abrir")
for moment, words in MOMENTS.items():
    print(f"{words:<22}", tr("bill written over:", "factura pisada:"), ask_first(moment))
assert [ask_first(moment) for moment in MOMENTS] == [False, True, False]

# %% tokens
SERVICES = ("calendar", "mail", "files", "bank")
USER = {(service, act) for service in SERVICES for act in ("read", "write")}
NEED = {(service, "read") for service in SERVICES}  # four servers in a row, each reads at its service


@dataclass(frozen=True)
class Token:
    """Rights, and for whom the token was made."""

    rights: frozenset
    audience: str


def use(token, service, act, checks):
    """What a service decides. ``checks``: it refuses a token that was made for another."""
    return (service, act) in token.rights and (token.audience == service or not checks)


def chain(exchanges, checks):
    """Each server holds a token: passed on from the first, or made for its one step.

    Returns (does the job get done, how many rights some server can use that its step does not need).
    """
    done, excess = True, 0
    for service in SERVICES:
        if exchanges:
            token = Token(frozenset({(service, "read")}), service)
        else:
            token = Token(frozenset(USER), SERVICES[0])
        usable = {right for right in USER if use(token, *right, checks)}
        done &= (service, "read") in usable
        excess += len(usable - {(service, "read")})
    return done, excess


print(
    tr(
        f"{'token':<14}{'audience':<13}job done   rights too many",
        f"{'token':<14}{'destino':<13}trabajo   derechos de más",
    )
)
chains = {}
for exchanges, checks in product((False, True), repeat=2):
    chains[exchanges, checks] = done, excess = chain(exchanges, checks)
    token = tr("one per step", "uno por paso") if exchanges else tr("passed on", "reenviado")
    check = tr("checked", "comprobado") if checks else tr("ignored", "ignorado")
    print(f"{token:<14}{check:<13}{tr('yes', 'sí') if done else 'no':<11}{excess:>5}")
assert chains[False, False] == (True, 4 * len(USER) - len(NEED))
assert chains[False, True][0] is False
assert chains[True, True] == chains[True, False] == (True, 0)

# %% letter
MODEL = {("inbox", "read"), ("mail", "write"), ("calendar", "read")}  # an assistant and its tools
ANA = MODEL | {("bank", "write")}
STRANGER = set()  # whoever wrote the letter has no rights here at all
ASKED = {
    tr("Ana: read my inbox", "Ana: lee mi buzón"): (("inbox", "read"), ANA),
    tr("Ana: write to Ben", "Ana: escribe a Ben"): (("mail", "write"), ANA),
    tr("a letter: send this on", "una carta: reenvía esto"): (("mail", "write"), STRANGER),
}
print(
    tr(
        f"{'both may:':<26} model and user   model and author",
        f"{'pueden ambos:':<26} modelo y usuaria   modelo y autor",
    )
)
verdicts = []
for name, (right, author) in ASKED.items():
    by_user, by_author = right in MODEL & ANA, right in MODEL & author
    verdicts.append((by_user, by_author))
    shown = [tr("goes", "pasa") if ok else tr("stopped", "se para") for ok in (by_user, by_author)]
    print(f"{name:<26} {shown[0]:>12} {shown[1]:>22}")
assert verdicts == [(True, True), (True, True), (True, False)]
