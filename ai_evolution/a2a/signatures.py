"""Agent Cards that can be believed: parsing, canonical bytes, signing and verifying.

A2A 1.0, section 8.4: a card is signed with a JWS (RFC 7515) whose payload is the RFC 8785 form
of the card without its ``signatures``. This room signs and verifies with joserfc and rfc8785,
which know nothing of a2a-sdk: the SDK is the peer that must agree.

Three forms of one card have to be told apart:

* the card **as received**, byte for byte what a plain signer would have canonicalised;
* the **explicit** form of section 8.4.1: what Protocol Buffers would call the same card. Fields
  with a default value are gone, except those that are REQUIRED or were set on purpose;
* the **pruned** form that a2a-sdk 1.3 signs: members that its types do not know are gone (such as
  those of the 0.3 dialect), and so is every empty string, list and object, at any depth. A
  requirement to authenticate that names a scheme and no scopes, ``{"schemes": {"bearer": {}}}``, is
  empty in this sense, so a signature over this form does not cover it: somebody in the middle can
  strike it out and the signature still holds (`uncovered` lists such places).

`sign_card` signs the pruned form, so that every SDK client can verify it, and puts the digest of
the explicit form into the protected header. `verify_card` compares that digest whenever it is
there: what our own signatures say is covered in full. A signature without it is accepted over any
of the three forms.

What it refuses to do: fetch keys (``jku`` and ``x5u`` are ignored, keys are pinned by ``kid``),
accept an algorithm other than ES256, accept a header that asks for an extension (``crit``,
``b64``), or guess what a card with the same key twice means.
"""

from __future__ import annotations

import base64
import binascii
import copy
import hashlib
import hmac
import json
import random
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import rfc8785
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwa import JWSAlgModel
from joserfc.jwk import ECKey

from ai_evolution.errors import CardRefused, UsageError

Card = dict[str, Any]
Key = ECKey

ALGORITHM = "ES256"
MAX_CARD_BYTES = 1_048_576
MAX_DEPTH = 100
"""Nested objects and lists; a2a-sdk gives up at 128, so every card we sign is one it can read."""
MAX_SIGNATURES = 16

EXPLICIT_DIGEST = "urn:ai-evolution:a2a:explicit-sha-256"
"""Protected header parameter of ours: base64url SHA-256 of the explicit form (RFC 7515, 4.3)."""

_REASONS = ("altered", "algorithm", "unknown-key", "malformed")  # the most telling first


# --- keys -------------------------------------------------------------------------------------


def generate_key(source: random.Random | int | None = None) -> Key:
    """A private P-256 key.

    Without an argument it comes from the operating system. With a seed or a ``random.Random``
    (``world.random``) the same stream gives the same key: for lessons and recorded evidence only,
    since whoever knows the seed owns the key.
    """
    if source is None:
        return ECKey.generate_key("P-256")
    stream = source if isinstance(source, random.Random) else random.Random(source)
    curve = ec.SECP256R1()
    # 64 bits more than the order has, so that the modulus leaves no bias worth the name (FIPS 186-5, A.2.1)
    number = 1 + stream.getrandbits(320) % (curve.group_order - 1)
    return ECKey.import_key(ec.derive_private_key(number, curve))


def public_key(key: Key) -> Key:
    """The public half: what the other side pins under a ``kid``."""
    return ECKey.import_key(key.public_key)


# --- parsing ----------------------------------------------------------------------------------


def parse_card(raw: bytes | bytearray | str) -> Card:
    """The card in `raw`, as received.

    Raises CardRefused, reason ``malformed``, unless it is one JSON object in UTF-8 that has a
    canonical form: no key twice, no NaN or infinity, no integer that JavaScript would round, no
    lone surrogate, at most 100 levels deep, at most 1 MiB.
    """
    if len(raw) > MAX_CARD_BYTES:
        raise _malformed(f"{len(raw)} bytes given, at most {MAX_CARD_BYTES} accepted")
    try:
        text = raw if isinstance(raw, str) else bytes(raw).decode("utf-8")
        card = json.loads(text, object_pairs_hook=_no_twins, parse_constant=_no_constant)
    except RecursionError:
        raise _malformed(f"more than {MAX_DEPTH} levels of nesting") from None
    except ValueError as error:
        raise _malformed(str(error)) from None
    if not isinstance(card, dict):
        raise _malformed(f"a JSON {type(card).__name__} given, an object accepted")
    canonical(card)
    return card


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {name[:60]!r} occurs twice in one object")
        found[name] = value
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _malformed(what: str) -> CardRefused:
    return CardRefused(f"the card is malformed: {what[:200]}", "malformed")


# --- canonical bytes --------------------------------------------------------------------------


def canonical(value: Any) -> bytes:
    """The RFC 8785 bytes of a JSON value; CardRefused, reason ``malformed``, when it has none."""
    if _deeper_than(value, MAX_DEPTH):
        raise _malformed(f"more than {MAX_DEPTH} levels of nesting")
    try:
        return rfc8785.dumps(value)
    except (ValueError, TypeError) as error:  # ValueError covers lone surrogates in a key
        raise _malformed(str(error)) from None


def _deeper_than(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit + 1):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return False
    return True


def _children(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from (child for child in value.values() if isinstance(child, (Mapping, list, tuple)))
    elif isinstance(value, (list, tuple)):
        yield from (child for child in value if isinstance(child, (Mapping, list, tuple)))


def explicit(card: Mapping[str, Any]) -> Card:
    """The card as A2A 1.0 section 8.4.1 wants it before signing, ``signatures`` left out.

    Members that the protocol does not know stay as they are: nothing received is forgotten.
    """
    from a2a.types import AgentCard

    unsigned = {name: value for name, value in card.items() if name != "signatures"}
    return dict(_explicit_message(unsigned, AgentCard.DESCRIPTOR, True))


def pruned(card: Mapping[str, Any]) -> Any:
    """The card as a2a-sdk 1.3 signs it: the explicit form without anything unknown or empty, at any depth."""
    return _prune(_known(card))


def _known(card: Mapping[str, Any]) -> Card:
    from a2a.types import AgentCard

    return dict(_explicit_message(explicit(card), AgentCard.DESCRIPTOR, False))


def uncovered(card: Mapping[str, Any]) -> list[str]:
    """JSON pointers of what a signature by a2a-sdk 1.3 would not cover in this card.

    Raises CardRefused (``malformed``) when the card has no canonical form.
    """
    canonical(card)
    return sorted(_lost(explicit(card), _known(card), ""))


def _lost(value: Any, known: Any, at: str) -> Iterator[str]:
    if _prune(known) is None:
        yield at
    elif isinstance(value, dict):
        for name, child in value.items():
            below = f"{at}/{name.replace('~', '~0').replace('/', '~1')}"
            yield from _lost(child, known[name], below) if name in known else (below,)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _lost(child, known[index], f"{at}/{index}")


def _prune(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: kept for k, v in value.items() if (kept := _prune(v)) is not None} or None
    if isinstance(value, (list, tuple)):
        return [kept for v in value if (kept := _prune(v)) is not None] or None
    return None if value == "" else value


@cache
def _fields(descriptor: Any) -> dict[str, tuple[Any, bool]]:
    """The JSON names of a protobuf message, each with its descriptor and whether it is REQUIRED."""
    from google.api import field_behavior_pb2  # type: ignore[import-untyped]

    marks = field_behavior_pb2.field_behavior
    required = field_behavior_pb2.REQUIRED
    return {f.json_name: (f, required in f.GetOptions().Extensions[marks]) for f in descriptor.fields}


def _explicit_message(value: Any, descriptor: Any, strangers: bool) -> Any:
    if not isinstance(value, dict):
        return value
    fields = _fields(descriptor)
    kept: dict[str, Any] = {}
    for name, given in value.items():
        if name not in fields:
            if strangers:
                kept[name] = given
            continue
        field, required = fields[name]
        if given is None:  # protobuf's JSON reads null as "not set"
            continue
        normal = _explicit_field(given, field, strangers)
        if required or field.has_presence or not _is_default(normal):
            kept[name] = normal
    for name, (field, required) in fields.items():
        if required and name not in kept and not field.has_presence:
            kept[name] = {} if _is_map(field) else [] if field.is_repeated else ""
    return kept


def _is_default(value: Any) -> bool:
    return value is False or (isinstance(value, (str, list, dict)) and not value)


def _is_map(field: Any) -> bool:
    return bool(field.message_type is not None and field.message_type.GetOptions().map_entry)


def _explicit_field(value: Any, field: Any, strangers: bool) -> Any:
    if field.message_type is None or field.message_type.full_name == "google.protobuf.Struct":
        return value
    if _is_map(field):
        entry = field.message_type.fields_by_name["value"].message_type
        if entry is None or not isinstance(value, dict):
            return value
        return {name: _explicit_message(item, entry, strangers) for name, item in value.items()}
    if field.is_repeated:
        if not isinstance(value, list):
            return value
        return [_explicit_message(item, field.message_type, strangers) for item in value]
    return _explicit_message(value, field.message_type, strangers)


# --- JWS --------------------------------------------------------------------------------------


class _Es256(JWSAlgModel):
    """ES256 (RFC 7518, 3.4) with the nonce of RFC 6979: one key and one card give one signature.

    Where OpenSSL is older than 3.2 the nonce is random: valid as well, and not reproducible.
    """

    name = ALGORITHM
    description = "ECDSA using P-256 and SHA-256"
    recommended = True
    key_type = "EC"

    def check_key(self, key: Any) -> None:
        if not isinstance(key, ECKey) or key.curve_name != "P-256":
            raise UsageError("a key that is not EC P-256 given, one for ES256 accepted")

    def sign(self, msg: bytes, key: ECKey) -> bytes:
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        private = key.private_key
        if private is None:
            raise UsageError("a public key given, a private one is needed to sign")
        r, s = decode_dss_signature(private.sign(msg, _ecdsa_without_chance()))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def verify(self, msg: bytes, sig: bytes, key: ECKey) -> bool:
        return _REGISTERED.verify(msg, sig, key)


def _ecdsa_without_chance() -> ec.ECDSA:
    try:
        return ec.ECDSA(hashes.SHA256(), deterministic_signing=True)
    except UnsupportedAlgorithm:
        return ec.ECDSA(hashes.SHA256())


_REGISTERED = jws.JWSRegistry.algorithms[ALGORITHM]


class _Registry(jws.JWSRegistry):
    """Knows one algorithm. ``none`` and HMAC do not exist here, so nobody can be talked into them."""

    algorithms: dict[str, JWSAlgModel] = {ALGORITHM: _Es256()}  # noqa: RUF012  (joserfc's own shape)
    recommended: list[str] = [ALGORITHM]  # noqa: RUF012
    max_header_length = 4_096
    max_payload_length = 2 * MAX_CARD_BYTES

    def check_header(self, header: dict[str, Any]) -> None:
        """Nothing: `_verify_entry` has checked what counts, and what is not understood is ignored.

        (RFC 7515, section 4. joserfc would refuse the ``"jku": null`` that a2a-sdk writes.)
        """


_REGISTRY = _Registry(algorithms=[ALGORITHM])


def sign_card(card: Mapping[str, Any], key: Key, kid: str) -> Card:
    """A copy of `card` with one more entry in ``signatures``; earlier entries stay.

    The same card, key and kid give the same bytes (RFC 6979). Raises UsageError for a key that
    cannot sign with ES256 or an empty kid, CardRefused (``malformed``) for a card without a
    canonical form.
    """
    if not kid or len(kid) > 200:
        raise UsageError(f"a kid of {len(kid)} characters given, 1 to 200 accepted")
    header = {"alg": ALGORITHM, "kid": kid, "typ": "JOSE", EXPLICIT_DIGEST: _explicit_digest(card)}
    compact = jws.serialize_compact(header, canonical(pruned(card)), key, registry=_REGISTRY)
    protected, _, signature = compact.split(".")
    signed = copy.deepcopy(dict(card))
    signed["signatures"] = [
        *(signed.get("signatures") or ()),
        {"protected": protected, "signature": signature},
    ]
    return signed


def _explicit_digest(card: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(canonical(explicit(card))).digest()).rstrip(b"=").decode()


def claims_everything(card: Mapping[str, Any]) -> bool:
    """Whether a signature of this card says that it covers the empty members too; nothing is verified."""
    entries = card.get("signatures")
    for entry in entries if isinstance(entries, list) else []:
        try:
            if EXPLICIT_DIGEST in _open_entry(entry)[2]:
                return True
        except CardRefused:
            continue
    return False


def verify_card(card: Mapping[str, Any], keys: Mapping[str, Key]) -> str:
    """The ``kid`` of the first signature that holds under a pinned key.

    `card` is the JSON as received, `keys` maps each trusted kid to its public key. One valid
    pinned signature is enough (section 8.4.3: several allow keys to rotate). Otherwise raises
    CardRefused, whose ``reason`` is one of ``unsigned``, ``unknown-key`` (nobody pinned has
    signed), ``altered`` (a pinned key's signature does not fit this card), ``algorithm`` (not
    ES256, or an extension is demanded) and ``malformed``.

    Prefer `verify_card_bytes` where the bytes are at hand: a parser has already thrown away
    duplicate keys.
    """
    if not isinstance(card, Mapping):
        raise _malformed(f"a {type(card).__name__} given, a JSON object accepted")
    card = dict(card)
    canonical(card)
    signatures = card.get("signatures")
    if signatures is None or signatures == []:
        raise CardRefused("the card carries no signature, one by a pinned key is needed", "unsigned")
    if not isinstance(signatures, list) or len(signatures) > MAX_SIGNATURES:
        raise _malformed(f"`signatures` is no list of at most {MAX_SIGNATURES} entries")
    payloads = _payloads(card)
    refusals: dict[str, str] = {}
    for entry in signatures:
        try:
            return _verify_entry(entry, card, payloads, keys)
        except CardRefused as refusal:
            refusals.setdefault(refusal.reason, str(refusal))
    reason = next(reason for reason in _REASONS if reason in refusals)
    raise CardRefused(refusals[reason], reason)


def verify_card_bytes(raw: bytes, keys: Mapping[str, Key]) -> tuple[Card, str]:
    """The parsed card and the kid that vouches for it; CardRefused as `parse_card` and `verify_card`."""
    card = parse_card(raw)
    return card, verify_card(card, keys)


def _payloads(card: Card) -> list[bytes]:
    received = {name: value for name, value in card.items() if name != "signatures"}
    forms = (canonical(received), canonical(explicit(card)), canonical(pruned(card)))
    return list(dict.fromkeys(forms))


def _verify_entry(entry: Any, card: Card, payloads: list[bytes], keys: Mapping[str, Key]) -> str:
    protected, signature, header = _open_entry(entry)
    if header.get("alg") != ALGORITHM:
        raise CardRefused(f"algorithm {header.get('alg')!r:.40} given, {ALGORITHM} accepted", "algorithm")
    if "crit" in header or "b64" in header:
        raise CardRefused("the signature demands a JOSE extension, none is accepted", "algorithm")
    kid = header.get("kid")
    if not isinstance(kid, str) or kid not in keys:
        raise CardRefused(f"signed by {kid!r:.60}, which is not a pinned key", "unknown-key")
    key = keys[kid]
    if not isinstance(key, ECKey) or key.curve_name != "P-256":
        raise CardRefused(f"the key pinned as {kid!r:.60} is no EC P-256 key", "algorithm")
    if not any(_holds(protected, payload, signature, key) for payload in payloads):
        raise CardRefused(f"the signature of {kid!r:.60} does not fit this card", "altered")
    claimed = header.get(EXPLICIT_DIGEST)
    if claimed is not None and not _same(claimed, _explicit_digest(card)):
        raise CardRefused(f"{kid!r:.60} signed this card with other empty members than it has now", "altered")
    return kid


def _open_entry(entry: Any) -> tuple[str, str, dict[str, Any]]:
    if not isinstance(entry, dict):
        raise _malformed("a signature that is no object")
    protected, signature = entry.get("protected"), entry.get("signature")
    if not isinstance(protected, str) or not isinstance(signature, str):
        raise _malformed("a signature without `protected` and `signature`")
    try:
        text = base64.b64decode(
            protected.encode("ascii") + b"=" * (-len(protected) % 4), b"-_", validate=True
        )
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_no_twins, parse_constant=_no_constant)
    except (ValueError, binascii.Error, RecursionError):
        raise _malformed("a signature whose protected header is no base64url JSON") from None
    if not isinstance(header, dict):
        raise _malformed("a signature whose protected header is no object")
    return protected, signature, header


def _holds(protected: str, payload: bytes, signature: str, key: Key) -> bool:
    body = base64.urlsafe_b64encode(payload).rstrip(b"=").decode()
    try:
        jws.deserialize_compact(f"{protected}.{body}.{signature}", key, registry=_REGISTRY)
    except (JoseError, ValueError, TypeError, UnicodeError):
        return False
    return True


def _same(claimed: Any, digest: str) -> bool:
    return isinstance(claimed, str) and hmac.compare_digest(
        claimed.encode("utf-8", "replace"), digest.encode()
    )
