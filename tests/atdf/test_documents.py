"""Documents: strict in, the same value out, and every refusal one line with a line and a column."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ai_evolution.atdf import documents
from ai_evolution.atdf.documents import MAX_DEPTH, Document, at, dumps, load, load_file
from ai_evolution.errors import DocumentError, UsageError

AWKWARD = [  # texts that YAML is known to take for something else, or to break
    "no", "yes", "on", "012", "1:30", "2025-07-11", "2025-07-12T10:00:00Z", "", "~", "null", "True", "1e3",
    "1_000", "0x1F", ".inf", "<<", "=", "- a", "a: b", "a #b", " a", "a ", "\n", "a\nb", "a\n b\n", "a\n\n",
    "x\n\ny\n", "\n a", "&a", "*a", "!x", "%x", "@x", "`x", "'x", '"x', "|", "> x", "? x", "---", "...",
    "a\tb", "a\n\tb", "#", "\ufeff", "é\u2028x\n1", "a\x85b", "\x00", "\x1b\n", "a\r\nb", "😀 ñ", "a\n  \nb",
    "a\n# b\n", "x: |\n  y", "y" * 1100,
]  # fmt: skip
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(AWKWARD)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


def read(text: str, name: str = "tool.yaml") -> Any:
    return load(text.encode(), name).value


def refusal(raw: bytes | str, name: str = "tool.json") -> str:
    with pytest.raises(DocumentError) as caught:
        load(raw.encode() if isinstance(raw, str) else raw, name)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 300
    return message


@given(VALUES, st.sampled_from(documents.FORMATS))
def test_what_is_written_reads_back_as_the_same_value_keys_in_order(value: Any, form: Any) -> None:
    text = dumps(value, form)
    again = load(text.encode(), "-", format=form).value
    assert json.dumps(again) == json.dumps(value)  # the texts: 1, 1.0 and true are three, and order counts


@pytest.mark.parametrize("value", AWKWARD)
def test_no_other_reader_of_yaml_sees_anything_but_a_text_in_what_is_written_for_one(value: str) -> None:
    other = yaml.load(dumps({value: [value]}, "yaml"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    assert other == {value: [value]}


def test_yaml_is_written_for_people() -> None:
    value = {"name": "a tool", "says": "one\ntwo\n", "list": [1, {"a": True, "b": [{}]}, []], "n": None}
    assert dumps(value, "yaml").splitlines() == [
        "name: a tool",
        "says: |",
        "  one",
        "  two",
        "list:",
        "  - 1",
        "  - a: true",
        "    b:",
        "      - {}",
        "  - []",
        '"n": null',
    ]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"), ("yes", "yes"), ("on", "on"), ("012", "012"), ("1:30", "1:30"), ("0x1F", "0x1F"),
        ("0o17", "0o17"), ("1_000", "1_000"), ("+1", "+1"), (".5", ".5"), ("1.", "1."), (".inf", ".inf"),
        (".NaN", ".NaN"), ("2025-07-11", "2025-07-11"), ("2025-07-12T10:00:00Z", "2025-07-12T10:00:00Z"),
        ("=", "="), ("'12'", "12"), ('"true"', "true"), ("12", 12), ("-3", -3), ("0", 0), ("1.5", 1.5),
        ("1e3", 1000.0), ("true", True), ("False", False), ("~", None), ("null", None), ("", None),
        ("9007199254740993", 9007199254740993),
    ],
)  # fmt: skip
def test_a_plain_scalar_of_yaml_is_what_json_would_take_it_for_and_otherwise_a_text(
    written: str, value: Any
) -> None:
    found = read(f"key: {written}\n")["key"]
    assert found == value
    assert type(found) is type(value)


def test_keys_of_yaml_are_the_text_that_stands_there() -> None:
    assert read("no: 1\n404: 2\nnull: 3\n2025-07-11: 4\n'<<': 5\n") == {
        "no": 1, "404": 2, "null": 3, "2025-07-11": 4, "<<": 5,
    }  # fmt: skip


def test_an_alias_is_written_out_and_shares_nothing() -> None:
    value = read("a: &x {deep: [1]}\nb: *x\n")
    value["a"]["deep"].append(2)
    assert value["b"] == {"deep": [1]}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "line 1, column 1: is empty"),
        (b" \n\t ", "line 1, column 1: is empty"),
        (b"\xef\xbb\xbf{}", "line 1, column 1: begins with a UTF-8 byte-order mark (EF BB BF)"),
        ("{}".encode("utf-16"), "line 1, column 1: begins with a UTF-16 byte-order mark"),
        ("{}".encode("utf-32"), "line 1, column 1: begins with a UTF-32 byte-order mark"),
        ('{"a":\n "año"}'.encode("latin-1"), "line 2, column 4: byte 0xf1 is not UTF-8"),
        (b'{"a": 1,}', "line 1, column 9: no JSON"),
        (b'{"a" 1}', "line 1, column 6: no JSON"),
        (b'{\n "a": "open', "line 2, column 7: no JSON: unterminated string"),
        (b"{} {}", "line 1, column 4: no JSON: extra data"),
        (b'{"a": "\t"}', "line 1, column 8: no JSON: invalid control character"),
        (b"{'a': 1}", "line 1, column 2: no JSON"),
        (b'[1,\n [NaN]]', "line 2, column 3: NaN is not a JSON number"),
        (b'{"a": {"b": -Infinity}}', "line 1, column 13: -Infinity is not a JSON number"),
        (b"[1, 1e999]", "line 1, column 5: the number '1e999' is larger than a double holds"),
        pytest.param(b"[1,\n" + b"9" * 5000 + b"]", "line 2, column 1: a number has too many", id="digits"),
        (b'["ok", {"\\udc00": 1}]', "line 1, column 8: half of a surrogate pair is no text"),
        (b'{"a": ["x\\ud800"]}', "line 1, column 8: half of a surrogate pair is no text"),
        (b'{"a": 1,\n "a": 3}', "line 2, column 2: the key 'a' stands twice in one object (first on line 1"),
        (b'[{"a": 1}, {"b": {"c": 1,\n  "c": 2}}]', "line 2, column 3: the key 'c' stands twice"),
        pytest.param(b"[" * 1_000_000, f"line 1, column {MAX_DEPTH + 1}: nested deeper", id="brackets"),
        pytest.param(b'{"a":' * 200 + b"1" + b"}" * 200, f"deeper than {MAX_DEPTH} levels", id="braces"),
        pytest.param(b"[" + b"0," * 6_000_000 + b"0]", "holds more than the 5,000,000 values", id="values"),
    ],
)  # fmt: skip
def test_json_that_is_not_accepted_gives_one_line_with_its_place(raw: bytes, said: str) -> None:
    message = refusal(raw)
    assert message.startswith("tool.json: ")
    assert said in message


CHAIN = "a0: &a0 [x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}]\n" for i in range(2000))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: !!python/object/apply:os.system ['x']", "line 1, column 4: the tag '!!python/object/apply:os."),
        ("a:\n  - !secret x", "line 2, column 5: the tag '!secret' is not accepted"),
        ("a: !!str 12", "line 1, column 4: the tag '!!str' is not accepted; quote a text instead"),
        ("a: 1\nb: 2\na: 3", "line 3, column 1: the key 'a' stands twice in one mapping"),
        ("a: &x 1\nb:\n  <<: {c: 1}", "line 3, column 3: merge keys (<<) are not accepted"),
        ("a: *x", "line 1, column 4: the alias '*x' stands for nothing before it"),
        ("a: &x [*x]", "line 1, column 8: the alias '*x' stands inside what it names"),
        ("&k a: 1\n*k : 2", "line 2, column 1: a key is text; an alias can't be one"),
        ("[a]: 1", "line 1, column 1: a key is text; an object or a list can't be one"),
        ("---\na: 1\n---\nb: 2", "line 3, column 1: a second document begins here"),
        ("# only words", "line 1, column 1: holds no document"),
        ("a: [1, 2", "no YAML: while parsing a flow sequence"),
        ("a:\n\t- b", "line 2, column 1: no YAML"),
        ("a: b: c", "line 1, column 5: no YAML: mapping values are not allowed"),
        ("a: \x07", "line 1, column 4: the character U+0007 is not accepted in YAML"),
        ('a: "\\ud800"', "line 1, column "),
        ("a: 1e999", "line 1, column 4: the number '1e999' is larger than a double holds"),
        pytest.param("a: " + "9" * 5000, "line 1, column 4: a number has too many digits", id="digits"),
        pytest.param("[" * 100_000, f"nested deeper than {MAX_DEPTH} levels", id="brackets"),
        pytest.param("- " * 100_000, f"nested deeper than {MAX_DEPTH} levels", id="dashes"),
        pytest.param("{a: " * 100_000, f"nested deeper than {MAX_DEPTH} levels", id="braces"),
        pytest.param(CHAIN, f"nested deeper than {MAX_DEPTH} levels, aliases written out", id="aliases"),
        pytest.param("#" * 17_000_000, "larger than the 16 MiB of YAML that are read", id="comment"),
    ],
)  # fmt: skip
def test_yaml_that_is_not_accepted_gives_one_line_with_its_place(text: str, said: str) -> None:
    message = refusal(text, "tool.yml")
    assert message.startswith("tool.yml: ")
    assert said in message


def test_a_bomb_of_aliases_is_not_written_out() -> None:
    lines = ["a0: &a0 [" + ",".join("x" * 9) + "]"]
    lines += [f"a{i + 1}: &a{i + 1} [{','.join([f'*a{i}'] * 9)}]" for i in range(12)]
    assert "aliases written out; that many are not read" in refusal("\n".join(lines), "bomb.yaml")


CHILD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
from ai_evolution.atdf.documents import load
from ai_evolution.atdf.shapes import validate
from ai_evolution.errors import DocumentError
MiB = 2**20
HOSTILE = {
    "brackets.json": b"[" * (50 * MiB),
    "lists.json": b"[" + b"[]," * (16 * MiB) + b"[]]",
    "twice.json": b"[" + b'{"a":1},' * 500000 + b'{"a":1,"a":2}]',
    "numbers.json": b"[" + b"9" * (50 * MiB) + b"]",
    "open.json": b'["' + b"x" * (50 * MiB),
    "large.json": b" " * (65 * MiB),
    "large.yaml": b"a" * (50 * MiB),
    "keys.yaml": b"? " * (8 * MiB),
    "quotes.yaml": b"'" * (15 * MiB + 1),
    "anchors.yaml": b"".join(b"- &a%d x\\n" % i for i in range(300000)),
}
for name, raw in HOSTILE.items():
    try:
        load(raw, name)
    except DocumentError as error:
        assert chr(10) not in str(error) and len(str(error)) < 300, name
        print(name, error)
    else:
        print(name, "ACCEPTED")
text = load(b'"' + b"x" * (50 * MiB) + b'"', "text.json")
print("text.json", validate(text)[0].message)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limits on memory and time are Linux's")
def test_hostile_documents_of_fifty_megabytes_end_in_bounded_memory_and_time() -> None:
    run = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=240, encoding="utf-8"
    )
    assert run.returncode == 0, run.stderr[-2000:]
    lines = run.stdout.splitlines()
    assert len(lines) == 11
    assert not [line for line in lines if "ACCEPTED" in line]


def test_the_ending_of_the_name_decides_and_then_the_first_character() -> None:
    assert load(b'{"a": 1}', "-").format == "json"
    assert load(b"a: 1", "-").format == "yaml"
    assert load(b"{a: 1}", "a.YAML").value == {"a": 1}
    assert load(b"a: 1", "notes.txt", format="yaml").value == {"a": 1}
    assert refusal(b"{a: 1}", "-").startswith("-: line 1, column 2")
    with pytest.raises(UsageError, match="format 'toml' is not known; accepted: json, yaml"):
        load(b"", "x", format="toml")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="accepted: json, yaml"):
        dumps({}, "toml")  # type: ignore[arg-type]


JSON = '{"a": 1,\n "b~/c": {"d": [1, {"ñ😀": 2,\n    "e": "f"}]}}'
YAML = "a: 1\nb~/c:\n  d:\n    - 1\n    - ñ😀: 2\n      e: &x f\n  again: &y {z: 1}\nalias: *y\n"


@pytest.mark.parametrize(
    ("text", "name", "pointer", "place"),
    [
        (JSON, "x.json", "", (1, 1)),
        (JSON, "x.json", "/a", (1, 7)),
        (JSON, "x.json", "/b~0~1c/d/1/ñ😀", (2, 27)),
        (JSON, "x.json", "/b~0~1c/d/1/e", (3, 10)),
        (JSON, "x.json", "/b~0~1c/d/2", None),
        (JSON, "x.json", "/a/b", None),
        (JSON, "x.json", "a", None),
        (YAML, "x.yaml", "", (1, 1)),
        (YAML, "x.yaml", "/b~0~1c/d", (4, 5)),
        (YAML, "x.yaml", "/b~0~1c/d/1/ñ😀", (5, 11)),
        (YAML, "x.yaml", "/b~0~1c/d/1/e", (6, 10)),
        (YAML, "x.yaml", "/alias/z", (8, 8)),
        (YAML, "x.yaml", "/a/b", None),
        (YAML, "x.yaml", "/b~0~1c/d/01", None),
    ],
)
def test_a_pointer_has_a_line_and_a_column(
    text: str, name: str, pointer: str, place: tuple[int, int] | None
) -> None:
    assert load(text.encode(), name).position(pointer) == place


def test_a_missing_value_is_located_where_it_would_have_stood() -> None:
    assert load(JSON.encode(), "x.json").locate("/b~0~1c/d/7/missing") == "x.json: line 2, column 16"
    assert Document(1, "made up", "json").locate("/a") == "made up"


@given(VALUES)
def test_each_value_of_a_document_has_a_position_in_both_formats(value: Any) -> None:
    pointers = [""]
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        pointer, here = waiting.pop()
        members = (
            here.items() if isinstance(here, dict) else enumerate(here) if isinstance(here, list) else ()
        )
        for key, each in members:
            below = pointer + documents.pointer_of([key])
            pointers.append(below)
            waiting.append((below, each))
    for form in documents.FORMATS:
        document = load(dumps(value, form).encode(), "x", format=form)
        for pointer in pointers:
            assert document.position(pointer) is not None
            assert at(document.value, pointer) == at(value, pointer)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"when": date(2025, 7, 11)}, "at /when: date is no JSON value"),
        ([{1, 2}], "at /0: set is no JSON value"),
        ({1: 2}, "at /: a key is no text"),
        ([math.nan], "at /0: nan is no JSON number"),
        (["\ud800"], "at /0: half of a surrogate pair is no text"),
        ({"\ud800": 1}, "at /: half of a surrogate pair is no text"),
    ],
)
def test_what_json_has_no_word_for_is_not_written(value: Any, said: str) -> None:
    for form in documents.FORMATS:
        with pytest.raises(DocumentError) as caught:
            dumps(value, form)
        assert said in str(caught.value)


def test_a_value_that_holds_itself_is_not_written() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(DocumentError, match="nested deeper"):
        dumps(value)


def test_the_deepest_document_that_is_read_is_also_written() -> None:
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    value = load(text.encode(), "x.json").value
    for form in documents.FORMATS:
        assert load(dumps(value, form).encode(), "x", format=form).value == value


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="cannot be read: No such file"):
        load_file(tmp_path / "missing.json")
    with pytest.raises(DocumentError, match="cannot be read"):
        load_file(tmp_path)
    (tmp_path / "a.yaml").write_bytes(b"a: no\n")
    assert load_file(tmp_path / "a.yaml").value == {"a": "no"}
