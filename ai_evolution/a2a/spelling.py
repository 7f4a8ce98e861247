"""One spelling for each member of a card.

Protocol Buffers reads two: the JSON name (``supportedInterfaces``) and the field's own
(``supported_interfaces``). A signature is made over one of them; a second member beside it, in the
other spelling, could take its place in a typed card while the signature still holds. ProtoJSON
writes JSON names only (A2A 1.0, section 5.5), so the other spelling is refused wherever it stands.

It refuses to look into free-form values: a Struct, such as the params of an extension, has no
fields, and the keys of a map are no field names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def misspelt(card: Mapping[str, Any]) -> str | None:
    """JSON pointer of the first member that has a field's own spelling, None when there is none."""
    from a2a.types import AgentCard

    return next(_misspelt(card, AgentCard.DESCRIPTOR, ""), None)


def _misspelt(value: Any, descriptor: Any, at: str) -> Iterator[str]:
    if not isinstance(value, Mapping) or descriptor.full_name == "google.protobuf.Struct":
        return
    fields = {field.json_name: field for field in descriptor.fields}
    for name, child in value.items():
        below = f"{at}/{str(name).replace('~', '~0').replace('/', '~1')}"
        if name not in fields:
            if name in descriptor.fields_by_name:
                yield below
            continue
        message = fields[name].message_type
        if message is None:
            continue
        entries: Iterable[tuple[Any, Any]]
        if message.GetOptions().map_entry:
            inner = message.fields_by_name["value"].message_type
            entries = child.items() if inner is not None and isinstance(child, Mapping) else ()
        else:
            inner = message
            entries = enumerate(child) if isinstance(child, (list, tuple)) else [("", child)]
        for key, each in entries:
            step = f"/{str(key).replace('~', '~0').replace('/', '~1')}" if key != "" else ""
            yield from _misspelt(each, inner, below + step)
