"""Markers pair up, blocks are filled whole, and a translation knows which prose it follows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_evolution.catalog.markers import (
    fill_blocks,
    find_blocks,
    followed_source,
    prose_digest,
    with_source,
)
from ai_evolution.errors import DocumentError

SCRIPT = "scripts/refresh.py"


def block(name: str, content: str = "old", script: str = SCRIPT) -> str:
    return (
        f"<!-- BEGIN GENERATED: {name} ({script}) -->\n{content}\n<!-- END GENERATED: {name} ({script}) -->\n"
    )


PAGE = f"# Title\n\n{block('claims')}\nText.\n\n{block('papers', script='scripts/link_papers_to_classes.py')}"


def test_a_block_is_replaced_and_nothing_else_moves() -> None:
    filled = fill_blocks(PAGE, {"claims": "new"}, script=SCRIPT, where="page.md")
    assert filled == PAGE.replace("(scripts/refresh.py) -->\nold\n", "(scripts/refresh.py) -->\n\nnew\n\n", 1)


def test_filling_twice_changes_nothing_more() -> None:
    once = fill_blocks(PAGE, {"claims": "new\n\ntable"}, script=SCRIPT, where="page.md")
    assert fill_blocks(once, {"claims": "new\n\ntable"}, script=SCRIPT, where="page.md") == once


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<!-- BEGIN GENERATED: a (scripts/refresh.py) -->\n", "page.md:1: block 'a' is never closed"),
        (block("a").replace("END", "BEGIN"), "page.md:1: block 'a' is never closed"),
        (
            "<!-- END GENERATED: a (scripts/refresh.py) -->\n",
            "page.md:1: block 'a' (scripts/refresh.py) ends",
        ),
        (block("a") + block("a"), "page.md:4: block 'a' stands twice"),
        (block("a").replace("END GENERATED: a", "END GENERATED: b"), "page.md:3: block 'b'"),
        ("x\n<!-- BEGIN GENERATED a -->\n", "page.md:2: '<!-- BEGIN GENERATED a -->' is no marker"),
        ("<!-- begin generated: a (scripts/refresh.py) -->\n", "is no marker"),
    ],
)
def test_markers_that_do_not_pair_up_are_one_clear_line(text: str, says: str) -> None:
    with pytest.raises(DocumentError) as caught:
        find_blocks(text, "page.md")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_block_is_named_with_those_that_are_known() -> None:
    with pytest.raises(
        DocumentError, match=r"page\.md:3: .* knows no block 'claims'; accepted: output, wire"
    ):
        fill_blocks(PAGE, {"output": "", "wire": ""}, script=SCRIPT, where="page.md")


def test_a_missing_block_is_named_with_the_lines_that_would_make_it() -> None:
    with pytest.raises(DocumentError, match="block 'wire' is missing; put <!-- BEGIN GENERATED: wire"):
        fill_blocks(PAGE, {"claims": "", "wire": ""}, script=SCRIPT, where="page.md", required=("wire",))


def test_a_marker_shown_inside_a_fence_is_text() -> None:
    page = f"```markdown\n{block('a')}```\n"
    assert find_blocks(page, "page.md") == ()


def test_a_fence_inside_a_block_is_part_of_the_block() -> None:
    page = block("a", "```console\n$ python lab.py\n```")
    assert [found.name for found in find_blocks(page, "page.md")] == ["a"]


def test_the_prose_digest_does_not_see_what_a_script_writes() -> None:
    filled = fill_blocks(PAGE, {"claims": "other numbers"}, script=SCRIPT, where="page.md")
    assert prose_digest(filled, "page.md") == prose_digest(PAGE, "page.md")


def test_the_prose_digest_sees_a_changed_word_and_a_moved_block() -> None:
    digest = prose_digest(PAGE, "page.md")
    assert prose_digest(PAGE.replace("Text.", "Texts."), "page.md") != digest
    assert prose_digest(PAGE.replace("claims", "wire"), "page.md") != digest


def test_a_translation_carries_what_it_follows_in_one_line() -> None:
    page = with_source("# Título\n", "README.md", "0" * 64)
    assert page.splitlines()[0] == f"<!-- source: README.md sha256:{'0' * 64} -->"
    assert followed_source(page) == ("README.md", "0" * 64)
    again = with_source(page, "README.md", "1" * 64)
    assert followed_source(again) == ("README.md", "1" * 64)
    assert len(again.splitlines()) == len(page.splitlines())


def test_a_page_without_the_line_follows_nothing() -> None:
    assert followed_source("# Title\n") is None


@given(st.text())
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    says = ""
    try:
        find_blocks(text, "page.md")
    except DocumentError as error:
        says = str(error)
    assert len(says.splitlines()) <= 1
