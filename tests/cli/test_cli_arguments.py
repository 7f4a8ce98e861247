"""Whatever is typed wrongly gets one line that says what was given and what would be accepted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ai_evolution import __version__

BAD_CALLS = [
    (["rum"], "'rum' is not a command of ai-evolution; did you mean run? accepted: catalog, run"),
    (["RUN", "multiagent"], "did you mean run?"),
    (["run"], "run needs NAME; usage: ai-evolution run"),
    (
        ["run", "multiagen"],
        "no lab is called 'multiagen'; did you mean multiagent? accepted: contracts, mcp, multiagent",
    ),
    (
        ["run", "multiagent", "--seed", "seven"],
        "--seed 'seven' is not a whole number from 0 to 9007199254740991",
    ),
    (["run", "multiagent", "--seed", "-1"], "--seed '-1' is not a whole number"),
    (["run", "multiagent", "--seed", "1.5"], "--seed '1.5' is not a whole number"),
    (["run", "multiagent", "--seed", "9007199254740992"], "is not a whole number from 0 to 9007199254740991"),
    (["run", "multiagent", "--seed", "9" * 5000], "is not a whole number from 0"),
    (["run", "multiagent", "--seed", "٣"], "is not a whole number"),
    (["run", "multiagent", "--seed"], "run --seed needs a value and got none"),
    (["run", "multiagent", "--transport", "htp"], "--transport 'htp' is not known; did you mean http?"),
    (["run", "multiagent", "--param", "candidates"], "--param 'candidates' is not KEY=VALUE; for example"),
    (["run", "multiagent", "--param", "candidate=3"], "no parameter 'candidate'; accepted: candidates"),
    (["run", "multiagent", "--param", "candidates=many"], "parameter candidates is 'many'; expected a whole"),
    (["run", "multiagent", "--param", "candidates=1e400"], "parameter candidates is inf; expected a whole"),
    (["run", "multiagent", "--sed", "3"], "run does not understand --sed; did you mean --seed? accepted:"),
    (["run", "multiagent", "twice"], "run does not understand twice"),
    (["run", "multiagent", "--json", "--table"], "--json cannot be used together"),
    (["run", "multiagent", "--json=yes"], "run --json takes no value, and was given 'yes'"),
    (
        ["run", "multiagent", "--lang", "fr"],
        "--lang 'fr' is not a language of this command; accepted: en, es",
    ),
    (["run", "multiagent", "--out", "no/such/folder/e.json"], "the folder no/such/folder does not exist"),
    (["verify"], "verify needs FILE"),
    (["verify", "absent.json"], "absent.json: No such file or directory"),
    (["verify", "."], ".: Is a directory"),
    (
        ["a2a", "crad", "http://127.0.0.1:1"],
        "'crad' is not a command of ai-evolution a2a; did you mean card?",
    ),
    (["a2a", "card", "nowhere"], "'nowhere' is not an agent's address; expected http(s)://"),
    (["a2a", "card", "file:///etc/passwd"], "is not an agent's address"),
    (["a2a", "check", "http://127.0.0.1:1", "--ask", "x"], "--ask and --answer belong together"),
    (["--verison"], "ai-evolution does not understand --verison; did you mean --version?"),
]


@pytest.mark.parametrize(("argv", "says"), BAD_CALLS, ids=[" ".join(argv)[:50] for argv, _ in BAD_CALLS])
def test_a_wrong_call_is_one_line_and_exit_code_2(cli: Callable, argv: list[str], says: str) -> None:
    done = cli(*argv)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert len(done.err.splitlines()) == 1
    assert len(done.err) < 500
    assert "Traceback" not in done.err


def test_a_command_that_is_not_there_is_refused_in_spanish_too(cli: Callable) -> None:
    done = cli("rum", "--lang", "es")
    assert done.err.startswith("ai-evolution: 'rum' no es una orden de ai-evolution; ¿querías decir run?")


def test_without_a_command_the_help_is_shown_and_the_exit_code_is_2(cli: Callable) -> None:
    done = cli()
    assert done.code == 2
    assert done.out == ""
    assert "COMMAND" in done.err


COMMANDS = ["", "run", "verify", "catalog", "progress", "check", "seeds", "grade", "validate", "doctor",
            "a2a", "a2a card", "a2a check", "a2a send", "a2a serve"]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize(("lang", "word"), [("en", "usage: "), ("es", "uso: ")])
def test_every_command_explains_itself_in_both_languages(
    cli: Callable, words: str, lang: str, word: str
) -> None:
    argv = words.split()
    done = cli(*argv, "--lang", lang, "--help")
    assert done.code == 0
    assert done.out.startswith(f"{word}{' '.join(['ai-evolution', *argv])}")
    assert done.err == ""


@pytest.mark.parametrize(
    ("environment", "word"),
    [
        ({"LANG": "es_ES.UTF-8"}, "uso:"),
        ({"LANG": "de_DE.UTF-8"}, "usage:"),
        ({"LANG": "C"}, "usage:"),
        ({"LANG": ""}, "usage:"),
        ({"LANG": "en_GB.UTF-8", "LC_MESSAGES": "es"}, "uso:"),
        ({"LANG": "es", "LC_MESSAGES": "es", "LC_ALL": "C"}, "usage:"),
    ],
    ids=str,
)
def test_the_language_comes_from_the_locale(
    cli: Callable, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], word: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cli("--help").out.startswith(word)


def test_the_version_is_that_of_the_package(cli: Callable) -> None:
    assert cli("--version").out == f"ai-evolution {__version__}\n"


def test_asking_for_help_imports_nothing_heavy() -> None:
    script = (
        "import sys; from ai_evolution.cli import entry; entry(['--help']); "
        "bad = {'json', 'asyncio', 'inspect', 'rich', 'pydantic', 'httpx', 'a2a', 'mcp', 'jsonschema'}; "
        "sys.exit(' '.join(sorted(bad & set(sys.modules))) or 0)"
    )
    source = str(Path(__file__).resolve().parents[2])
    # -S and -I: without what this machine's site-packages import at every start
    path = f"import sys; sys.path.insert(0, {source!r}); "
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", path + script], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
