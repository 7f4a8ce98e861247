"""Property tests of the converters, on documents that nobody would write."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from strategies import FORMS, NAMES, Maker, arguments, documents, tools

from ai_evolution.atdf.convert import convert
from ai_evolution.atdf.losses import leaves, missing, reported
from ai_evolution.atdf.schemas import check_schema, problems_in
from ai_evolution.atdf.translation import text_of

FLAT = [form for form in FORMS if form not in ("openai", "anthropic")]
OPEN = ("mcp", "atdf-2", "atdf-tools", "atdf-tool")


@settings(max_examples=5_000)
@given(tools)
def test_mcp_to_atdf_2_and_back_is_the_same_text(tool: dict[str, Any]) -> None:
    there = convert(tool, "atdf-2", source="mcp")
    assert there.losses == ()
    assert problems_in(there.document, "atdf-2", limit=1) == []
    assert text_of(convert(there.document, "mcp", source="atdf-2").document) == text_of(tool)


@settings(max_examples=150)
@given(arguments)
def test_the_generated_schemas_are_schemas(schema: dict[str, Any]) -> None:
    repeats = {"required": list(dict.fromkeys(schema["required"]))} if "required" in schema else {}
    assert [problem for problem in check_schema(schema | repeats) if problem.keyword != "$ref"] == []


@pytest.mark.parametrize("form", FLAT)
@settings(max_examples=60)
@given(st.data())
def test_the_generated_documents_are_of_their_form(form: str, data: st.DataObject) -> None:
    assert problems_in(data.draw(documents(form)), form, limit=1) == []


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=60)
@given(st.data())
def test_what_is_missing_after_a_conversion_is_what_was_reported(form: str, data: st.DataObject) -> None:
    document = data.draw(documents(form))
    for to in FORMS:
        there = convert(document, to, source=form)
        if to in FLAT:
            for one in there.document if isinstance(there.document, list) else [there.document]:
                assert problems_in(one, "atdf-tools" if "tools" in one else to, limit=1) == []
        written = json.loads(text_of(there.document))
        back = convert(written, form, source=to, like=document).document
        again = back[0] if isinstance(back, list) and not isinstance(document, list) else back
        if form == "atdf-tools" and isinstance(back, list):
            again = {"tools": back}
        elif "tools" in again and "tools" not in document:
            again = again["tools"][0]
        says = reported(there.losses)
        assert set(says) <= set(dict(leaves(document)))
        assert says.keys() == missing(document, again).keys()


class Marker(Maker):
    """Every text it makes is another one, so that it can be searched for."""

    def text(self) -> str:
        self._made += 1
        return f"¶{self._made}¶"

    def name(self) -> str:
        return self.one(NAMES)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=60, phases=[Phase.generate])
@given(st.integers(0, 2**1024 - 1))
def test_a_text_is_in_the_result_or_in_the_report_and_never_in_both(form: str, number: int) -> None:
    document = FORMS[form](Marker(number))
    texts = [(at, value) for at, value in leaves(document) if str(value).startswith("¶")]
    for to in FORMS:
        there = convert(document, to, source=form)
        result, gone = text_of(there.document), reported(there.losses)
        for pointer, value in texts:
            if pointer != "/schema_version":  # the word of a form, no content
                assert (value in result) != (pointer in gone), (to, pointer, value)
