"""A card is believed only when a pinned key vouches for all of it."""

from __future__ import annotations

import base64
import copy
import json
import random
from typing import Any

import jwt
import pytest
from a2a.client.card_resolver import parse_agent_card as sdk_parse_card
from a2a.server.routes import create_agent_card_routes
from a2a.types import AgentCard
from a2a.utils.signing import (
    InvalidSignaturesError,
    create_agent_card_signer,
    create_signature_verifier,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from hypothesis import given, settings
from hypothesis import strategies as st
from joserfc.jwk import OctKey, RSAKey
from starlette.applications import Starlette
from starlette.testclient import TestClient

from ai_evolution.a2a import signatures
from ai_evolution.a2a.cards import (
    OUTPUT_SCHEMA,
    Needs,
    declare_output_schema,
    generate_key,
    lint_card,
    misfits,
    origin,
    output_schema,
    parse_card,
    public_key,
    sign_card,
    uncovered,
    usable_interfaces,
    verify_card,
    verify_card_bytes,
)
from ai_evolution.a2a.dialects import with_v0_3
from ai_evolution.errors import CardRefused, UsageError

KEY = generate_key(7)
OTHER = generate_key(8)
KEYS = {"checks-1": public_key(KEY)}
URL = "https://checks.example/.well-known/agent-card.json"

CARD: dict[str, Any] = {
    "name": "Background checks añejo €",
    "description": "Checks what a candidate says 🔎",
    "version": "1.0.0",
    "supportedInterfaces": [
        {"url": "https://checks.example/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": "https://checks.example/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
    ],
    "capabilities": {"streaming": True, "pushNotifications": False},
    "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
    "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
    "defaultInputModes": ["application/json", "text/plain"],
    "defaultOutputModes": ["application/json"],
    "skills": [
        {"id": "check", "name": "Check", "description": "Checks a candidate", "tags": ["hiring"]},
        {
            "id": "summary",
            "name": "Summary",
            "description": "Sums up",
            "tags": ["text"],
            "inputModes": ["text/*"],
            "outputModes": ["text/markdown; charset=utf-8"],
        },
    ],
}
SCHEMA = {
    "type": "object",
    "properties": {"result": {"type": "string", "minLength": 1}, "sources": {"type": "array"}},
    "required": ["result", "sources"],
}


def signed() -> dict[str, Any]:
    return sign_card(CARD, KEY, "checks-1")


def refusal(card: Any, keys: Any = KEYS) -> str:
    with pytest.raises(CardRefused) as caught:
        verify_card(card, keys)
    assert "\n" not in str(caught.value)
    return caught.value.reason


def b64(data: bytes | str) -> str:
    return base64.urlsafe_b64encode(data.encode() if isinstance(data, str) else data).rstrip(b"=").decode()


def signature_with(
    header: dict[str, Any] | str, card: dict[str, Any] = CARD, key: Any = KEY
) -> dict[str, str]:
    """An honest ES256 signature under a header of the test's choosing."""
    protected = b64(header if isinstance(header, str) else json.dumps(header))
    payload = b64(signatures.canonical(signatures.pruned(card)))
    raw = signatures._REGISTRY.get_alg("ES256").sign(f"{protected}.{payload}".encode(), key)
    return {"protected": protected, "signature": b64(raw)}


def with_signatures(*entries: Any) -> dict[str, Any]:
    return {**CARD, "signatures": list(entries)}


def sdk_verify(card: dict[str, Any], key: Any = KEY) -> None:
    pem = key.as_pem(private=False)
    message = ParseDict(copy.deepcopy(card), AgentCard())
    create_signature_verifier(lambda _kid, _jku: pem, ["ES256"])(message)


def sdk_sign(card: dict[str, Any], key: Any = KEY, **header: Any) -> dict[str, Any]:
    message = ParseDict(copy.deepcopy(card), AgentCard())
    protected = {"kid": "checks-1", "alg": "ES256", "typ": "JOSE", **header}
    sign = create_agent_card_signer(key.as_pem(private=True), protected)  # type: ignore[arg-type]
    return MessageToDict(sign(message))  # type: ignore[no-any-return]


# --- two independent implementations ----------------------------------------------------------


def test_what_we_sign_we_verify_and_the_card_given_is_left_alone() -> None:
    before = copy.deepcopy(CARD)
    assert verify_card(signed(), KEYS) == "checks-1"
    assert before == CARD


def test_the_sdk_verifies_our_signature() -> None:
    sdk_verify(signed())


@pytest.mark.parametrize("jku", [{}, {"jku": None}, {"jku": "https://evil.example/keys"}])
def test_we_verify_the_sdks_signature_and_ignore_its_jku(jku: dict[str, Any]) -> None:
    assert verify_card(sdk_sign(CARD, **jku), KEYS) == "checks-1"


def test_a_signed_card_can_be_served_by_the_sdk_and_verified_from_the_bytes_that_arrive() -> None:
    routes = create_agent_card_routes(ParseDict(signed(), AgentCard()))
    with TestClient(Starlette(routes=list(routes))) as http:
        raw = http.get("/.well-known/agent-card.json").content
    card, kid = verify_card_bytes(raw, KEYS)
    assert (card["name"], kid) == (CARD["name"], "checks-1")


def test_our_signature_survives_a_server_that_rebuilds_the_card_from_protobuf() -> None:
    served = MessageToDict(ParseDict(signed(), AgentCard()))
    assert served["securityRequirements"] == [
        {"schemes": {"bearer": {}}}
    ]  # not what was signed, letter by letter
    assert verify_card(served, KEYS) == "checks-1"


def test_a_card_with_the_fields_of_the_0_3_dialect_verifies_on_both_sides_and_is_covered_in_full() -> None:
    union = sign_card(with_v0_3(CARD, "https://checks.example/"), KEY, "checks-1")
    assert union["url"] == "https://checks.example/"
    message = sdk_parse_card(copy.deepcopy(union))
    create_signature_verifier(lambda _kid, _jku: KEY.as_pem(private=False), ["ES256"])(message)  # type: ignore[arg-type, return-value]
    assert verify_card(union, KEYS) == "checks-1"
    assert refusal({**union, "url": "https://evil.example/"}) == "altered"
    assert "/url" in uncovered(union)


def test_a_plain_signer_over_the_card_as_received_is_accepted() -> None:
    protected = b64(json.dumps({"alg": "ES256", "kid": "checks-1"}))
    payload = b64(signatures.canonical(CARD))
    raw = signatures._REGISTRY.get_alg("ES256").sign(f"{protected}.{payload}".encode(), KEY)
    assert verify_card(with_signatures({"protected": protected, "signature": b64(raw)}), KEYS) == "checks-1"


def test_the_example_of_section_8_4_1_has_the_bytes_the_specification_prints() -> None:
    fragment = {
        "name": "Example Agent",
        "description": "",
        "capabilities": {"streaming": False, "pushNotifications": False, "extensions": []},
        "skills": [],
    }
    explicit = signatures.explicit(fragment)
    printed = {name: explicit[name] for name in fragment}
    assert signatures.canonical(printed) == (
        b'{"capabilities":{"pushNotifications":false,"streaming":false},'
        b'"description":"","name":"Example Agent","skills":[]}'
    )


# Vectors made with a2a-sdk 1.3.0 and with this library. The SDK's nonce is random: it cannot be remade.
VECTOR_JWK = {
    "kty": "EC",
    "crv": "P-256",
    "x": "a8qcd2yoNQwimljhNmbcqivJJ1nwcL3phndtMblnuR4",
    "y": "Hw8SRfWv6g69RRM2bEac4JW_tRyjEKPDXtQn-ICOI74",
}
VECTOR_CANONICAL = (
    '{"capabilities":{"pushNotifications":false,"streaming":true},"defaultInputModes":["appli'
    'cation/json","text/plain"],"defaultOutputModes":["application/json"],"description":"Chec'
    'ks what a candidate says 🔎","name":"Background checks añejo €","securitySchemes":{"beare'
    'r":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}},"skills":[{"description":"Checks a ca'
    'ndidate","id":"check","name":"Check","tags":["hiring"]},{"description":"Sums up","id":"s'
    'ummary","inputModes":["text/*"],"name":"Summary","outputModes":["text/markdown; charset='
    'utf-8"],"tags":["text"]}],"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolV'
    'ersion":"1.0","url":"https://checks.example/"},{"protocolBinding":"HTTP+JSON","protocolV'
    'ersion":"1.0","url":"https://checks.example/rest"}],"version":"1.0.0"}'
)
VECTOR_SDK = {
    "protected": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImNoZWNrcy0xIiwidHlwIjoiSk9TRSJ9",
    "signature": "GccPquu9HbZdRzAiMn-mYcbGdFGZ8KM9lIvHXlrRDZNBBoVv8Z-Zdo7aLVFP0iuzdHFNC8iBpHke5byAh_Rjug",
}
VECTOR_OURS = {
    "protected": (
        "eyJhbGciOiJFUzI1NiIsImtpZCI6ImNoZWNrcy0xIiwidHlwIjoiSk9TRSIsInVybjphaS1ldm9sdXRpb246YTJh"
        "OmV4cGxpY2l0LXNoYS0yNTYiOiIwSmlQWFhHbmU4Rnc1VXFLZm1LXzRWRGtYSzNENkk0R0dUeFNmWWw0RVdjIn0"
    ),
    "signature": "TMbfLS3wUdcnJeo-0Lo19oDdQYTAahuV2ArsOHrdKW4XCDzzb20jVLF57dKn3_MFpyrCA6K0fLyQ-l3-aZe0vw",
}


def test_the_vectors_hold() -> None:
    key = public_key(signatures.ECKey.import_key(VECTOR_JWK))  # type: ignore[arg-type]
    assert key.thumbprint() == KEYS["checks-1"].thumbprint()
    assert signatures.canonical(signatures.pruned(CARD)).decode() == VECTOR_CANONICAL
    assert signed()["signatures"] == [VECTOR_OURS]
    for vector in (VECTOR_SDK, VECTOR_OURS):
        assert verify_card(with_signatures(vector), {"checks-1": key}) == "checks-1"
        sdk_verify(with_signatures(vector))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
cards = st.fixed_dictionaries(
    {
        "name": st.text(min_size=1, max_size=8)
    },  # a card without anything: the SDK signs "null" and cannot verify it
    optional={
        "description": st.text(max_size=8),
        "documentationUrl": st.text(max_size=4),
        "provider": st.fixed_dictionaries(
            {}, optional={"url": st.text(max_size=3), "organization": st.text(max_size=3)}
        ),
        "capabilities": st.fixed_dictionaries(
            {},
            optional={
                "streaming": st.booleans(),
                "extensions": st.lists(
                    st.fixed_dictionaries(
                        {"uri": st.text(max_size=4), "required": st.booleans()},
                        optional={"params": st.dictionaries(st.text(max_size=3), json_values, max_size=3)},
                    ),
                    max_size=2,
                ),
            },
        ),
        "securityRequirements": st.lists(
            st.fixed_dictionaries(
                {
                    "schemes": st.dictionaries(
                        st.text(max_size=3),
                        st.fixed_dictionaries({"list": st.lists(st.text(max_size=2), max_size=2)}),
                        max_size=2,
                    )
                }
            ),
            max_size=2,
        ),
        "skills": st.lists(
            st.fixed_dictionaries(
                {"id": st.text(max_size=4), "tags": st.lists(st.text(max_size=3), max_size=2)},
                optional={"inputModes": st.lists(st.text(max_size=3), max_size=2)},
            ),
            max_size=2,
        ),
    },
)


@settings(max_examples=60, deadline=None)
@given(card=cards)
def test_any_card_signed_on_one_side_verifies_on_the_other(card: dict[str, Any]) -> None:
    ours = sign_card(card, KEY, "checks-1")
    sdk_verify(ours)
    assert verify_card(MessageToDict(ParseDict(copy.deepcopy(ours), AgentCard())), KEYS) == "checks-1"
    assert verify_card(sdk_sign(card), KEYS) == "checks-1"


# --- forgeries --------------------------------------------------------------------------------


def leaves(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [path for k, v in value.items() for path in [(*at, k), *leaves(v, (*at, k))]]
    if isinstance(value, list):
        return [path for i, v in enumerate(value) for path in [(*at, i), *leaves(v, (*at, i))]]
    return []


@pytest.mark.parametrize("path", [p for p in leaves(CARD) if p[-1] != "list"], ids=str)
def test_nothing_can_be_struck_out_of_a_card_that_we_signed(path: tuple[Any, ...]) -> None:
    forged = signed()
    parent = forged
    for step in path[:-1]:
        parent = parent[step]
    del parent[path[-1]]
    assert refusal(forged) == "altered"


def test_the_sdk_alone_does_not_notice_that_the_duty_to_authenticate_was_struck_out() -> None:
    """Why the explicit digest exists. Should this test fail, the SDK has been mended: say so in the docs."""
    forged = signed()
    del forged["securityRequirements"]
    sdk_verify(forged)
    assert refusal(forged) == "altered"
    assert uncovered(CARD) == ["/securityRequirements"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("securityRequirements", [{"schemes": {"other": {}}}]),
        ("documentationUrl", ""),
        ("provider", {}),
        ("xNote", "added"),
        ("xNote", ""),
        ("defaultOutputModes", ["application/json", ""]),
        ("supportedInterfaces", [{**CARD["supportedInterfaces"][0], "url": "https://evil.example/"}]),
    ],
)
def test_nothing_can_be_put_into_a_card_that_we_signed(name: str, value: Any) -> None:
    assert refusal({**signed(), name: value}) == "altered"


def test_a_changed_card_is_refused_by_the_sdk_too() -> None:
    with pytest.raises(InvalidSignaturesError):
        sdk_verify({**signed(), "name": "Somebody else"})


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"alg": "none", "kid": "checks-1"}, "algorithm"),
        ({"alg": "None", "kid": "checks-1"}, "algorithm"),
        ({"alg": "HS256", "kid": "checks-1"}, "algorithm"),
        ({"alg": "ES384", "kid": "checks-1"}, "algorithm"),
        ({"alg": ["ES256"], "kid": "checks-1"}, "algorithm"),
        ({"kid": "checks-1"}, "algorithm"),
        ({"alg": "ES256", "kid": "checks-1", "crit": ["exp"], "exp": 1}, "algorithm"),
        ({"alg": "ES256", "kid": "checks-1", "crit": []}, "algorithm"),
        ({"alg": "ES256", "kid": "checks-1", "b64": False}, "algorithm"),
        ({"alg": "ES256", "kid": "stranger"}, "unknown-key"),
        ({"alg": "ES256"}, "unknown-key"),
        ({"alg": "ES256", "kid": 7}, "unknown-key"),
        ({"alg": "ES256", "kid": ["checks-1"]}, "unknown-key"),
        ({"alg": "ES256", "kid": "checks-1", signatures.EXPLICIT_DIGEST: 3}, "altered"),
        ({"alg": "ES256", "kid": "checks-1", signatures.EXPLICIT_DIGEST: "é"}, "altered"),
        ('{"alg":"none","alg":"ES256","kid":"checks-1"}', "malformed"),
        ("[]", "malformed"),
        ("{", "malformed"),
        ("[" * 5000, "malformed"),
    ],
)
def test_a_header_that_asks_for_something_else_is_refused(header: Any, reason: str) -> None:
    assert refusal(with_signatures(signature_with(header))) == reason


def test_a_header_with_parameters_nobody_knows_is_accepted() -> None:
    header = {
        "alg": "ES256",
        "kid": "checks-1",
        "x-note": "fine",
        "jwk": {"kty": "EC"},
        "x5u": "https://evil.example",
    }
    assert verify_card(with_signatures(signature_with(header)), KEYS) == "checks-1"


def test_a_public_key_used_as_an_hmac_secret_is_refused() -> None:
    secret = KEY.as_pem(private=False)
    header = b64(json.dumps({"alg": "HS256", "kid": "checks-1"}))
    payload = b64(signatures.canonical(signatures.pruned(CARD)))
    mac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    forged = {"protected": header, "signature": b64(mac.sign(f"{header}.{payload}".encode(), secret))}
    assert refusal(with_signatures(forged)) == "algorithm"
    assert (
        refusal(with_signatures(forged), {"checks-1": OctKey.import_key(KEYS["checks-1"].thumbprint())})
        == "algorithm"
    )


def test_a_pinned_key_of_another_kind_is_refused() -> None:
    assert refusal(signed(), {"checks-1": RSAKey.generate_key(2048)}) == "algorithm"
    assert refusal(signed(), {"checks-1": signatures.ECKey.generate_key("P-384")}) == "algorithm"


def test_a_stranger_who_borrows_a_pinned_kid_is_refused() -> None:
    assert refusal(sign_card(CARD, OTHER, "checks-1")) == "altered"


def test_an_unsigned_card_is_refused() -> None:
    assert refusal(CARD) == "unsigned"
    assert refusal({**CARD, "signatures": []}) == "unsigned"
    assert refusal({**CARD, "signatures": None}) == "unsigned"


@pytest.mark.parametrize(
    "entry",
    [
        None,
        3,
        "x",
        {},
        {"protected": "e30"},
        {"protected": 1, "signature": "x"},
        {"protected": "é", "signature": "x"},
        {"protected": "!!!", "signature": "x"},
        {"protected": "_w", "signature": ""},
    ],
)
def test_something_that_is_no_signature_is_refused(entry: Any) -> None:
    assert refusal(with_signatures(entry)) == "malformed"


@pytest.mark.parametrize("value", ["x", {"protected": "e30"}, 7, True, [{}] * 17])
def test_signatures_that_are_no_short_list_are_refused(value: Any) -> None:
    assert refusal({**CARD, "signatures": value}) == "malformed"


@pytest.mark.parametrize(
    "signature", ["", "AA", "A" * 86, "é", "." * 86, "A" * 3000, b64(b"\x00" * 64), b64(b"\xff" * 64)]
)
def test_a_signature_of_the_wrong_shape_is_refused(signature: str) -> None:
    entry = {**signature_with({"alg": "ES256", "kid": "checks-1"}), "signature": signature}
    assert refusal(with_signatures(entry)) == "altered"


def test_one_pinned_signature_among_several_is_enough_in_any_order() -> None:
    both = sign_card(sign_card(CARD, OTHER, "old"), KEY, "checks-1")
    assert verify_card(both, KEYS) == "checks-1"
    assert verify_card({**both, "signatures": both["signatures"][::-1]}, KEYS) == "checks-1"
    assert verify_card(both, {"old": public_key(OTHER)}) == "old"
    assert verify_card({**both, "signatures": [{"junk": 1}, *both["signatures"]]}, KEYS) == "checks-1"


def test_the_most_telling_reason_is_given_when_no_signature_holds() -> None:
    none = signature_with({"alg": "none", "kid": "checks-1"})
    stranger = signature_with({"alg": "ES256", "kid": "stranger"})
    broken = {**signature_with({"alg": "ES256", "kid": "checks-1"}), "signature": "AA"}
    assert refusal(with_signatures({}, stranger)) == "unknown-key"
    assert refusal(with_signatures({}, stranger, none)) == "algorithm"
    assert refusal(with_signatures({}, stranger, none, broken)) == "altered"


# --- bytes ------------------------------------------------------------------------------------


def test_bytes_that_were_signed_verify_whatever_their_layout() -> None:
    raw = json.dumps(signed(), indent=3, sort_keys=True, ensure_ascii=False).encode()
    assert verify_card_bytes(raw, KEYS) == (signed(), "checks-1")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[]",
        b"3",
        b"{",
        b"{}x",
        b"\xff\xfe{}",
        b'{"a":1,"a":1}',
        b'{"a":{"b":1,"b":2}}',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":-Infinity}',
        b'{"a":1e999}',
        b'{"a":9007199254740992}',
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":"\\ud800"}',
        b'{"\\udfff":1}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"a":' + b"[" * 101 + b"]" * 101 + b"}",
        b'{"a":' + b'{"a":' * 100_000,
        b"[" * 200_000,
        "{}".encode("utf-16"),
        b"\xef\xbb\xbf{}",
        b'{"a":"' + b"x" * 1_048_577 + b'"}',
    ],
    ids=lambda raw: repr(raw[:24]),
)
def test_bytes_that_could_be_read_in_two_ways_are_malformed(raw: bytes) -> None:
    for read in (parse_card, lambda raw: verify_card_bytes(raw, KEYS)):
        with pytest.raises(CardRefused) as caught:
            read(raw)  # type: ignore[operator]
        assert caught.value.reason == "malformed"
        assert len(str(caught.value)) < 300


def test_a_second_endpoint_hidden_behind_a_duplicate_key_is_refused() -> None:
    raw = json.dumps(signed())
    forged = '{"supportedInterfaces":[{"url":"https://evil.example/"}],' + raw[1:]
    with pytest.raises(CardRefused, match="twice"):
        verify_card_bytes(forged.encode(), KEYS)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=6)
    | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec=None), max_size=4) | st.integers(), inner, max_size=3)
        | st.tuples(inner)
    ),
    max_leaves=10,
)


def places() -> st.SearchStrategy[tuple[Any, ...]]:
    paths = [p for p in leaves(signed()) if isinstance(p[-1], str)]
    return st.sampled_from(paths)


@settings(max_examples=150, deadline=None)
@given(path=places(), value=anything)
def test_whatever_stands_where_in_a_card_nothing_but_refusal_comes_back(
    path: tuple[Any, ...], value: Any
) -> None:
    hostile = signed()
    parent = hostile
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = value
    try:
        verify_card(hostile, KEYS)
    except CardRefused as refused:
        assert refused.reason in ("unsigned", "unknown-key", "altered", "algorithm", "malformed")  # noqa: PT017
    misfits(hostile, Needs(skill="check", input_modes=("text/plain",), streaming=True, push=True), URL)
    usable_interfaces(hostile, Needs())
    lint_card(hostile)


@settings(max_examples=100, deadline=None)
@given(card=anything)
def test_something_that_is_no_card_is_refused(card: Any) -> None:
    assert refusal(card) in ("unsigned", "malformed", "unknown-key", "algorithm")


@settings(max_examples=100, deadline=None)
@given(raw=st.binary(max_size=40) | st.text(max_size=40))
def test_arbitrary_bytes_are_a_card_or_malformed(raw: bytes | str) -> None:
    try:
        assert isinstance(parse_card(raw), dict)
    except CardRefused as refused:
        assert refused.reason == "malformed"  # noqa: PT017


def test_nesting_without_end_is_malformed() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert refusal({**signed(), "x": endless}) == "malformed"


# --- keys -------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_key_and_the_same_signature_again() -> None:
    assert generate_key(7).as_dict(private=True) == generate_key(random.Random(7)).as_dict(private=True)
    assert signed() == signed()
    assert generate_key(7).thumbprint() != generate_key(8).thumbprint()
    assert generate_key().thumbprint() != generate_key().thumbprint()


def test_only_a_private_p256_key_signs() -> None:
    for wrong in (public_key(KEY), signatures.ECKey.generate_key("P-384"), OctKey.generate_key(256)):
        with pytest.raises(UsageError):
            sign_card(CARD, wrong, "checks-1")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="kid"):
        sign_card(CARD, KEY, "")
    with pytest.raises(CardRefused):
        sign_card({**CARD, "x": float("nan")}, KEY, "checks-1")


def test_the_public_half_holds_no_secret() -> None:
    assert not public_key(KEY).is_private
    assert "d" not in public_key(KEY).as_dict()


# --- fitness ----------------------------------------------------------------------------------


def test_an_agent_that_offers_what_is_needed_has_no_misfit() -> None:
    needs = Needs(
        skill="check", input_modes=("text/plain",), output_modes=("application/json",), streaming=True
    )
    assert misfits(CARD, needs, URL) == []
    assert misfits(CARD, Needs(), URL) == []


@pytest.mark.parametrize(
    ("needs", "words"),
    [
        (Needs(skill="cook"), ["skill"]),
        (Needs(skill="check", input_modes=("image/png",)), ["input-mode"]),
        (Needs(skill="check", input_modes=("TEXT/Plain; charset=utf-8",)), []),
        (Needs(skill="check", output_modes=("application/json", "text/plain")), ["output-mode"]),
        (Needs(skill="summary", input_modes=("text/plain",), output_modes=("text/markdown",)), []),
        (Needs(skill="summary", input_modes=("application/json",)), ["input-mode"]),
        (Needs(bindings=("GRPC",)), ["binding"]),
        (Needs(protocol="2.0"), ["protocol"]),
        (Needs(protocol="1.1"), []),
        (Needs(schemes=("basic",)), ["auth"]),
        (Needs(schemes=("BEARER", "basic")), []),
        (Needs(push=True), ["push"]),
    ],
)
def test_each_misfit_has_its_word(needs: Needs, words: list[str]) -> None:
    assert misfits(CARD, needs, URL) == words


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"securityRequirements": [{"schemes": {"missing": {}}}]}, ["auth"]),
        ({"securityRequirements": [{"schemes": {"missing": {}}}, {"schemes": {"bearer": {}}}]}, []),
        ({"securityRequirements": [{"schemes": {"bearer": {}, "missing": {}}}]}, ["auth"]),
        ({"securityRequirements": "yes"}, ["auth"]),
        ({"securityRequirements": []}, []),
        ({"capabilities": {}}, ["streaming"]),
        ({"capabilities": {"streaming": "true"}}, ["streaming"]),
        (
            {"capabilities": {"streaming": True, "extensions": [{"uri": "urn:x", "required": True}]}},
            ["extension"],
        ),
        ({"capabilities": {"streaming": True, "extensions": [{"uri": OUTPUT_SCHEMA, "required": True}]}}, []),
        ({"supportedInterfaces": []}, ["binding"]),
        ({"skills": [{**CARD["skills"][0], "securityRequirements": [{"schemes": {"mtls": {}}}]}]}, ["auth"]),
    ],
)
def test_each_lack_of_the_card_has_its_word(change: dict[str, Any], words: list[str]) -> None:
    assert misfits({**CARD, **change}, Needs(skill="check", streaming=True), URL) == words


@pytest.mark.parametrize(
    ("interface", "words"),
    [
        ("https://checks.example:443/x", []),
        ("HTTPS://CHECKS.example./x", []),
        ("https://checks.example:8443/", ["origin"]),
        ("http://checks.example/", ["origin"]),
        ("https://checks.example.evil.example/", ["origin"]),
        ("https://checks.example@evil.example/", ["origin"]),
        ("https://user@checks.example/", ["origin"]),
        ("//checks.example/", ["origin"]),
        ("file:///etc/passwd", ["origin"]),
        ("https://[::1/", ["origin"]),
        ("https://partner.example/a2a", []),
        ("", ["origin"]),
    ],
)
def test_an_interface_lives_where_the_card_lives_or_where_the_caller_allows(
    interface: str, words: list[str]
) -> None:
    card = {**CARD, "supportedInterfaces": [{**CARD["supportedInterfaces"][0], "url": interface}]}
    needs = Needs(origins=("https://partner.example",))
    assert misfits(card, needs, URL) == words
    assert misfits(card, needs) == []


def test_the_interface_to_use_is_the_agents_favourite_that_we_speak() -> None:
    assert [i["protocolBinding"] for i in usable_interfaces(CARD, Needs())] == ["JSONRPC", "HTTP+JSON"]
    assert [i["url"] for i in usable_interfaces(CARD, Needs(bindings=("HTTP+JSON",)))] == [
        "https://checks.example/rest"
    ]


def test_an_origin_always_names_its_port() -> None:
    assert origin("http://A.example") == origin("http://a.example:80/x?y#z") == "http://a.example:80"
    assert origin("http://[::1]:9/") == "http://[::1]:9"
    assert origin("http://a:99999/") is None
    assert origin("ftp://a/") is None


# --- output schema ----------------------------------------------------------------------------


def test_a_declared_schema_comes_back_after_signature_protobuf_and_wire() -> None:
    card = sign_card(declare_output_schema(CARD, "check", SCHEMA), KEY, "checks-1")
    served = json.loads(json.dumps(MessageToDict(ParseDict(copy.deepcopy(card), AgentCard()))))
    assert verify_card(served, KEYS) == "checks-1"
    schema = output_schema(served, "check")
    assert schema == SCHEMA
    assert type(schema["properties"]["result"]["minLength"]) is int
    assert output_schema(served, "summary") is None
    assert output_schema(CARD, "check") is None


def test_two_skills_share_one_extension_and_a_second_declaration_replaces_the_first() -> None:
    card = declare_output_schema(declare_output_schema(CARD, "check", {}), "summary", {"type": "string"})
    card = declare_output_schema(card, "check", SCHEMA)
    assert len(card["capabilities"]["extensions"]) == 1
    assert output_schema(card, "check") == SCHEMA
    assert output_schema(card, "summary") == {"type": "string"}
    assert "extensions" not in CARD["capabilities"]


@pytest.mark.parametrize(
    "schema",
    [{"type": "objekt"}, {"$ref": "http://169.254.169.254/"}, {"items": {"$ref": "other.json"}}, [], None],
)
def test_a_schema_that_does_not_work_or_points_outside_is_refused_on_both_sides(schema: Any) -> None:
    with pytest.raises(UsageError):
        declare_output_schema(CARD, "check", schema)
    hostile = {**CARD, "capabilities": {"extensions": [{"uri": OUTPUT_SCHEMA, "params": {"check": schema}}]}}
    with pytest.raises(CardRefused) as caught:
        output_schema(hostile, "check")
    assert caught.value.reason == "malformed"
    assert any("output schema" in line for line in lint_card(hostile))


def test_a_schema_for_a_skill_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="check, summary"):
        declare_output_schema(CARD, "cook", SCHEMA)


# --- lint -------------------------------------------------------------------------------------


def test_a_good_card_has_one_remark_about_the_sdk_until_our_signature_answers_it() -> None:
    assert lint_card(CARD) == [
        "/securityRequirements: empty or unknown, a signature by a2a-sdk does not cover it"
    ]
    assert lint_card(signed()) == []  # our signature says that it covers empty members too


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"skills": []}, "/skills:"),
        ({"description": ""}, "/description:"),
        ({"defaultInputModes": ["text"]}, "/defaultInputModes/0:"),
        ({"capabilities": None}, "/capabilities:"),
        ({"url": "https://checks.example/"}, "/url:"),
        ({"skills": [CARD["skills"][0]] * 2}, "/skills/1/id:"),
        ({"skills": [{"id": "x"}]}, "/skills/0/tags:"),
        (
            {"supportedInterfaces": [{"url": "/x", "protocolBinding": "JSONRPC"}]},
            "/supportedInterfaces/0/url:",
        ),
        (
            {"supportedInterfaces": [{"url": "http://a.example", "protocolBinding": "X"}]},
            "/supportedInterfaces/0/protocolBinding:",
        ),
        (
            {"supportedInterfaces": [{"url": "http://a.example", "protocolBinding": "JSONRPC"}]},
            "/supportedInterfaces/0/url: http",
        ),
        ({"securityRequirements": [{"schemes": {"x": {"list": ["a"]}}}]}, "/securityRequirements/0:"),
        ({"securitySchemes": {"bearer": {"type": "http"}}}, "/securitySchemes/bearer:"),
        ({"x": float("nan")}, ": the card is malformed"),
    ],
)
def test_lint_points_at_what_a_stranger_would_stumble_over(change: dict[str, Any], pointer: str) -> None:
    assert any(line.startswith(pointer) for line in lint_card({**CARD, **change}))
