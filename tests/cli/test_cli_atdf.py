"""The ``atdf`` commands, typed as a user types them: files, standard input, both languages, three exit codes."""

# ruff: noqa: E501

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FORMS = ROOT / "tests" / "atdf" / "forms"
ALL = sorted(path for path in FORMS.iterdir() if not path.name.startswith("envelope"))
DATES = FORMS / "atdf-tool.validar_rango_de_fechas.yaml"
ROUTE = FORMS / "mcp.find_route.json"
BASIC = FORMS / "atdf-1.fetch.json"


def written(path: Path, value: Any) -> Path:
    text = value if isinstance(value, str) else json.dumps(value)
    path.write_text(text, encoding="utf-8")
    return path


def tool(**schema: Any) -> dict[str, Any]:
    return {"name": "t", "description": "d", "inputSchema": {"type": "object", **schema}}


COMMANDS = ["", "validate", "detect", "convert", "test", "lint", "diff", "render"]


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize(("lang", "word"), [("en", "usage: "), ("es", "uso: ")])
def test_every_command_explains_itself_in_both_languages(
    cli: Callable, words: str, lang: str, word: str
) -> None:
    argv = ["atdf", *words.split()]
    done = cli(*argv, "--lang", lang, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{word}{' '.join(['ai-evolution', *argv])}")


BAD_CALLS = [
    (["atdf", "lnit", "x"], "'lnit' is not a command of ai-evolution atdf; did you mean lint?"),
    (["atdf", "validate"], "validate needs FILE"),
    (["atdf", "validate", "absent.json"], "absent.json: cannot be read: No such file or directory"),
    (["atdf", "validate", "-", "-"], "- stands for standard input, and there is only one"),
    (["atdf", "validate", BASIC, "--form", "atdf-3"], "--form 'atdf-3' is not known; did you mean atdf-"),
    (["atdf", "convert", BASIC], "convert needs --to; accepted: atdf-1"),
    (["atdf", "convert", BASIC, "--to", "mpc"], "--to 'mpc' is not known; did you mean mcp?"),
    (["atdf", "convert", BASIC, "--to", "mcp", "--out", "no/such/folder/x"], "the folder no/such/folder"),
    (["atdf", "lint", BASIC, "--fail-on", "fatal"], "--fail-on 'fatal' is not known"),
    (["atdf", "lint", BASIC, "--json", "--sarif"], "--sarif and --json cannot be used together"),
    (["atdf", "diff", BASIC], "diff needs NEW"),
    (["atdf", "diff", BASIC, "absent.json"], "absent.json: cannot be read"),
    (["atdf", "render", BASIC, "--budget", "0"], "--budget '0' is not a whole number from 1"),
    (["atdf", "render", BASIC, "--budget", "1"], "a budget of 1 tokens does not hold an empty section"),
    (["atdf", "render", BASIC, "--counter", "claude"], "--counter 'claude' is not known"),
    (["atdf", "test", "absent.py"], "absent.py: no such file; a Python file is accepted"),
    (["atdf", "test", "absent.py:x"], "absent.py: no such file; a Python file is accepted"),
    (["atdf", "test", __file__ + ":x"], "has no contract called 'x'; accepted: -"),
]


@pytest.mark.parametrize(("argv", "says"), BAD_CALLS, ids=[" ".join(map(str, a))[-40:] for a, _ in BAD_CALLS])
def test_a_wrong_call_is_one_line_and_exit_code_2(cli: Callable, argv: list[Any], says: str) -> None:
    done = cli(*argv)
    assert done.code == 2
    assert says in done.err
    assert len([line for line in done.err.splitlines() if "made up" not in line]) == 1
    assert "Traceback" not in done.err


HOSTILE = {
    "empty.json": b"",
    "bom.json": b"\xef\xbb\xbf{}",
    "latin.yaml": "tool: ñ".encode("latin-1"),
    "twice.json": b'{"a": 1, "a": 2}',
    "nan.json": b'{"a": NaN}',
    "deep.json": b"[" * 5000,
    "tag.yaml": b"a: !!python/object/apply:os.system [ls]",
}


@pytest.mark.parametrize("command", ["validate", "detect", "lint", "render"])
def test_a_hostile_file_is_one_line_and_the_others_are_still_looked_at(
    cli: Callable, tmp_path: Path, command: str
) -> None:
    for name, raw in HOSTILE.items():
        (tmp_path / name).write_bytes(raw)
    done = cli("atdf", command, *(tmp_path / name for name in HOSTILE), BASIC)
    lines = done.err.splitlines()
    assert done.code == 2
    assert [next(n for n in HOSTILE if n in line) for line in lines] == list(HOSTILE)
    assert ("fetch" in done.out) == (command != "render")
    assert "Traceback" not in done.err


def test_the_forms_are_valid_and_detected(cli: Callable) -> None:
    done = cli("atdf", "validate", *ALL)
    assert (done.code, done.err, len(done.out.splitlines())) == (0, "", len(ALL))
    found = json.loads(cli("atdf", "detect", "--json", *ALL).out)
    assert [one["form"] for one in found] == [path.name.split(".")[0].replace("listing", "") for path in ALL]
    assert all(one["why"] for one in found)


def test_what_is_wrong_is_told_with_line_and_column(cli: Callable, tmp_path: Path) -> None:
    path = written(tmp_path / "t.yaml", "name: t\ndescription: d\ninputSchema:\n  type: objekt\n")
    done = cli("atdf", "validate", path)
    assert done.code == 1
    assert f"{path}: line 4, column 9: /inputSchema/type: " in done.out
    told = json.loads(cli("atdf", "validate", path, "--json").out)
    assert (told[0]["problems"][0]["line"], told[0]["problems"][0]["column"]) == (4, 9)
    nothing = written(tmp_path / "n.json", {"a": 1})
    assert cli("atdf", "validate", nothing).code == cli("atdf", "detect", nothing).code == 1
    assert "de ninguna forma conocida" in cli("atdf", "detect", nothing, "--lang", "es").out


def test_standard_input_is_read_once_and_named_a_dash(shell: Callable) -> None:
    done = shell("atdf", "validate", "-", stdin=DATES.read_bytes())
    assert (done.code, done.out, done.err) == (0, "-: valid (atdf-tool, 1 tool(s))\n", "")
    done = shell("atdf", "lint", "-", "--lang", "es", stdin=json.dumps(tool()).encode())
    assert done.code == 1
    assert "-: line 1, column 1: warning no-example: t: no tiene ningún ejemplo" in done.out


def test_a_conversion_is_the_output_and_its_losses_are_told_beside_it(cli: Callable, tmp_path: Path) -> None:
    done = cli("atdf", "convert", ROUTE, "--to", "atdf-1")
    assert done.code == 0
    assert json.loads(done.out)["tool_id"] == "find_route"
    assert "lost /outputSchema: atdf-1 has no place for outputSchema" in done.err
    assert "made up /when_to_use, which is no knowledge" in done.err
    assert cli("atdf", "convert", ROUTE, "--to", "atdf-1", "--strict").code == 1
    told = json.loads(cli("atdf", "convert", ROUTE, "--to", "atdf-1", "--json").out)
    assert "/outputSchema" in [one["pointer"] for one in told[0]["losses"]]


def test_mcp_to_atdf_and_back_through_files_is_the_same_document(cli: Callable, tmp_path: Path) -> None:
    there, back = tmp_path / "there.yaml", tmp_path / "back.json"
    assert cli("atdf", "convert", ROUTE, "--to", "atdf-2", "--yaml", "--out", there).code == 0
    assert cli("atdf", "convert", there, "--to", "mcp", "--out", back).code == 0
    before = json.loads(ROUTE.read_text(encoding="utf-8"))
    assert json.dumps(json.loads(back.read_text(encoding="utf-8"))) == json.dumps(before)
    assert len(json.loads(cli("atdf", "convert", ROUTE, ROUTE, "--to", "openai").out)) == 2


CONTRACT = """
from ai_evolution.atdf.contract import Contract

print("loading")
TOOL = {"tool": {
    "name": "half", "description": "Half of an even number.",
    "input": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False},
    "output": {"success": {"type": "object", "required": ["half"], "properties": {"half": {"type": "integer"}}}},
    "examples": [{"input": {"n": 4}, "output": {"half": %s}}],
}}
half = Contract(TOOL, lambda n: {"half": n // 2})

async def slow(n):
    return {"half": n // 2}

later = Contract(TOOL, slow)
"""


def test_the_examples_of_a_contract_are_run(cli: Callable, tmp_path: Path) -> None:
    good = written(tmp_path / "good.py", CONTRACT % 2)
    done = cli("atdf", "test", good, "--trials", "20")
    assert (done.code, done.err) == (0, "loading\n")
    assert done.out.count("example 0 holds") == 2
    assert "20 generated calls: 0 with a fault" in done.out
    bad = written(tmp_path / "bad.py", CONTRACT % 3)
    done = cli("atdf", "test", f"{bad}:half", "--json")
    told = json.loads(done.out)
    assert done.code == 1
    assert (told[0]["tool"], told[0]["holds"], told[0]["examples"][0]["pointer"]) == ("half", False, "/half")
    assert "se esperaba 3" in cli("atdf", "test", f"{bad}:later", "--lang", "es").out


@pytest.mark.parametrize("source", ["import no_such_module_at_all", "1 / 0", "def (", "raise SystemExit(0)"])
def test_a_module_that_cannot_be_loaded_is_one_line(cli: Callable, tmp_path: Path, source: str) -> None:
    done = cli("atdf", "test", written(tmp_path / "broken.py", source))
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert "can't be loaded" in done.err


def test_findings_are_told_and_decide_the_exit_code(cli: Callable, tmp_path: Path) -> None:
    done = cli("atdf", "lint", DATES)
    assert done.code == 1
    assert "warning empty-error-data: validar_rango_de_fechas: the error schema accepts an error" in done.out
    assert "0 error(s), 2 warning(s)" in done.out
    assert cli("atdf", "lint", DATES, "--fail-on", "error").code == 0
    told = json.loads(cli("atdf", "lint", DATES, "--json").out)
    assert all(one["line"] and one["message"]["es"] for one in told)
    log = json.loads(cli("atdf", "lint", DATES, "--sarif", "--lang", "es").out)
    assert (log["version"], log["runs"][0]["tool"]["driver"]["language"]) == ("2.1.0", "es")
    assert len(log["runs"][0]["results"]) == len(told)


def test_several_files_are_one_catalogue(cli: Callable, tmp_path: Path) -> None:
    names = [written(tmp_path / f"{n}.json", tool()) for n in range(2)]
    rules = [(one["file"], one["rule"]) for one in json.loads(cli("atdf", "lint", *names, "--json").out)]
    assert (str(names[1]), "name-collision") in rules
    assert (str(names[0]), "name-collision") not in rules


def test_safe_fixes_are_written_once_and_nothing_else_is(cli: Callable, tmp_path: Path) -> None:
    path = written(tmp_path / "t.json", tool(**{"$defs": {"x": {}}}))
    done = cli("atdf", "lint", path, "--fix")
    assert "took out the definition 'x'" in done.err
    assert "$defs" not in json.loads(path.read_text(encoding="utf-8"))["inputSchema"]
    before = path.stat().st_mtime_ns
    assert "took out" not in cli("atdf", "lint", path, "--fix").err
    assert path.stat().st_mtime_ns == before
    commented = written(
        tmp_path / "c.yaml", "# why\nname: t\ndescription: d\ninputSchema: {type: object, $defs: {x: {}}}\n"
    )
    done = cli("atdf", "lint", commented, "--fix")
    assert done.code == 2
    assert "has comments, which a rewrite would lose" in done.err
    assert commented.read_text(encoding="utf-8").startswith("# why")


def test_a_breaking_change_is_shown_by_the_call_that_breaks(cli: Callable, tmp_path: Path) -> None:
    old = written(tmp_path / "old.json", tool(properties={"n": {"type": "integer", "maximum": 9}}))
    new = written(tmp_path / "new.json", tool(properties={"n": {"type": "integer", "maximum": 5}}))
    done = cli("atdf", "diff", old, new)
    assert done.code == 1
    assert done.out.startswith("t: major\n")
    assert 'this call breaks: {"n": 9} (9 is too large; accepted: 5 or less)' in done.out
    back = cli("atdf", "diff", new, old, "--lang", "es")
    assert (back.code, "t: minor" in back.out, "se aceptan más llamadas" in back.out) == (0, True, True)
    told = json.loads(cli("atdf", "diff", old, new, "--json").out)
    assert told[0]["reasons"][0]["example"]["value"] == {"n": 9}
    vague = written(
        tmp_path / "vague.json", tool(properties={"n": {"type": "integer", "maximum": 9, "default": 1}})
    )
    done = cli("atdf", "diff", old, vague)
    assert (done.code, done.out.splitlines()[0]) == (0, "t: at least patch")
    assert "not decided: /input_schema/properties/n/default" in done.out


def test_a_section_is_rendered_within_its_budget(cli: Callable) -> None:
    done = cli("atdf", "render", *ALL, "--density", "signatures")
    assert (done.code, len(done.out.splitlines())) == (0, 1 + 10)
    assert "tokens (cl100k_base)" in done.err
    told = json.loads(cli("atdf", "render", *ALL, "--budget", "300", "--json").out)
    assert told["tokens"] <= 300
    assert told["dropped"]
    assert "estimate" in cli("atdf", "render", BASIC, "--counter", "estimate").err


def test_a_whole_folder_is_looked_at_in_one_call(cli: Callable, tmp_path: Path) -> None:
    for number in range(60):
        shutil.copy(ROUTE, tmp_path / f"{number:02}.json")
    done = cli("atdf", "validate", *sorted(tmp_path.glob("*.json")))
    assert (done.code, len(done.out.splitlines())) == (0, 60)


def test_a_bar_is_shown_at_a_terminal_once_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    from ai_evolution.cli import atdf
    from ai_evolution.cli.show import Screen

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for patience, shown in ((0.0, True), (1e9, False)):
        monkeypatch.setattr(atdf, "PATIENCE", patience)
        screen = Screen("en", io.StringIO(), Terminal())
        assert list(atdf._with_bar(screen, ["a", "b", "c"])) == ["a", "b", "c"]
        assert ("of 3 files" in screen.err.getvalue()) == shown  # type: ignore[attr-defined]
        assert screen.out.getvalue() == ""  # type: ignore[attr-defined]


@pytest.mark.skipif(os.name != "posix", reason="a pipe whose reader has gone is told differently on Windows")
def test_a_reader_that_leaves_early_is_no_error() -> None:
    call = [sys.executable, "-m", "ai_evolution", "atdf", "lint", *map(str, ALL * 8)]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(10)
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read()
        assert (process.wait(timeout=60), said) == (141, b"")
