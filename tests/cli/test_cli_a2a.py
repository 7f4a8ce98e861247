"""The ``a2a`` commands against a live agent on loopback: the one that ``a2a serve`` serves."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ai_evolution.a2a.cards import generate_key, public_key
from ai_evolution.labs.hiring import TOKENS, candidates
from ai_evolution.world import World

TOKEN, OTHER = TOKENS
PERSON = candidates(World("multiagent", 3).fork("people"), 3)[0]
REQUEST = json.dumps({"candidate": PERSON.name, "consent_id": PERSON.consent_id})
ANSWER = json.dumps({"international": True})


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a served agent and the file with its public key."""
    key = tmp_path_factory.mktemp("desk") / "key.json"
    call = [sys.executable, "-m", "ai_evolution", "a2a", "serve", "--seed", "3", "--key-out", str(key)]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            found = re.search(rb"http://127\.0\.0\.1:\d+", process.stdout.readline())
            assert found, process.communicate(timeout=10)
            yield found[0].decode(), key
        finally:
            process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
            try:
                _, said = process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
    if os.name == "posix":
        assert (process.returncode, said) == (0, b"ai-evolution: the checks desk is closed\n")


def test_a_card_is_fetched_linted_and_verified(cli: Callable, desk: tuple[str, Path]) -> None:
    url, key = desk
    done = cli("a2a", "card", url, "--key", key, "--json")
    said = json.loads(done.out)
    assert said["card"]["name"] == "Checks desk"
    assert said["signature"] == {"kid": "checks-2026", "refused": None}
    assert done.code == (1 if said["problems"] else 0)
    words = cli("a2a", "card", url, "--key", key).out
    assert "Checks desk 2.1.0" in words
    assert "signed by checks-2026, a key that you trust" in words
    assert all(problem in words for problem in said["problems"])


def test_a_key_may_be_pem_or_a_set_and_a_strangers_key_is_refused(
    cli: Callable, desk: tuple[str, Path], tmp_path: Path
) -> None:
    from joserfc.jwk import ECKey

    url, key = desk
    jwk = json.loads(key.read_text(encoding="utf-8"))
    pem, keys, other = tmp_path / "key.pem", tmp_path / "keys.json", tmp_path / "other.json"
    pem.write_bytes(ECKey.import_key(jwk).as_pem(private=False))
    keys.write_text(json.dumps({"keys": [jwk]}), encoding="utf-8")
    other.write_text(json.dumps(public_key(generate_key(1)).as_dict(private=False)), encoding="utf-8")
    for good in (pem, keys):
        assert "a key that you trust" in cli("a2a", "card", url, "--key", good).out
    done = cli("a2a", "card", url, "--key", other)
    assert done.code == 1
    assert "(altered)" in done.out


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"kty": "oct", "k": "AA"}', b'{"keys": 3}', b"\x00\xff"]
)
def test_a_key_file_that_holds_no_key_is_one_line(
    cli: Callable, desk: tuple[str, Path], tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    done = cli("a2a", "card", desk[0], "--key", path)
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert "no P-256 public key as JWK, JWK set or PEM" in done.err


def test_the_behaviours_of_a_live_agent_are_told(cli: Callable, desk: tuple[str, Path]) -> None:
    tokens = ("--token", TOKEN, "--other-token", OTHER)
    done = cli("a2a", "check", desk[0], *tokens, "--ask", REQUEST, "--answer", ANSWER)
    assert (done.code, done.err) == (0, "")
    assert "task.asks: When something is missing" in done.out
    assert re.search(r"more behaviours need --complete, --crash, --reject, --slow: see", done.out)
    assert re.search(r"(\d+) of \1 behaviours hold", done.out)
    spanish = cli("a2a", "check", desk[0], *tokens, "--only", "card.published", "--lang", "es")
    assert "Se cumplen 1 de 1 comportamientos" in spanish.out


def test_a_behaviour_that_does_not_hold_is_shown_with_the_exchange(
    cli: Callable, desk: tuple[str, Path]
) -> None:
    call = ("a2a", "check", desk[0], "--token", "wrong", "--only", "task.unknown")
    done = cli(*call)
    assert done.code == 1
    for words in ("expected", "observed", "> POST", "< HTTP 401", "0 of 1 behaviours hold"):
        assert words in done.out
    assert "wrong" not in done.out.replace("wrong token", "")
    assert json.loads(cli(*call, "--json").out)[0]["holds"] is False


def test_the_token_may_come_from_the_environment(
    cli: Callable, desk: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A2A_TOKEN", TOKEN)
    assert cli("a2a", "check", desk[0], "--only", "auth.demanded", "--only", "task.unknown").code == 0


def test_a_job_is_delegated_and_its_artifact_is_the_output(cli: Callable, desk: tuple[str, Path]) -> None:
    url, key = desk
    done = cli("a2a", "send", url, REQUEST, "--token", TOKEN, "--key", key, "--answer", ANSWER)
    said = json.loads(done.out)
    assert done.code == 0
    assert said["artifact"] == PERSON.truth
    assert said["states"][0] == "TASK_STATE_SUBMITTED"
    assert said["states"][-1] == "TASK_STATE_COMPLETED"
    assert "the agent asks: Does the consent cover" in done.err


@pytest.mark.parametrize(
    ("what", "more", "says"),
    [
        (REQUEST, (), "no --answer was given for it: the task is canceled"),
        ('{"candidate": "Nobody"}', (), "TASK_STATE_REJECTED"),
        ('{"candidate": "Nobody", "consent_id": "C-1"}', ("--answer", ANSWER), "TASK_STATE_FAILED"),
    ],
)
def test_a_task_that_does_not_complete_ends_with_1(
    cli: Callable, desk: tuple[str, Path], what: str, more: tuple[str, ...], says: str
) -> None:
    done = cli("a2a", "send", desk[0], what, "--token", TOKEN, *more)
    assert (done.code, done.out) == (1, "")
    assert says in done.err
    assert "Traceback" not in done.err


def test_a_wrong_token_is_one_line_and_exit_code_2(cli: Callable, desk: tuple[str, Path]) -> None:
    done = cli("a2a", "send", desk[0], REQUEST, "--token", "wrong")
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert "401" in done.err


def test_nobody_at_the_address_is_one_line_and_exit_code_2(cli: Callable, free_port: int) -> None:
    for command in (["card"], ["send"]):
        more = ["hello"] if command == ["send"] else []
        done = cli("a2a", *command, f"http://127.0.0.1:{free_port}", *more)
        assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
        assert "127.0.0.1" in done.err


def test_a_port_that_is_taken_is_one_line(cli: Callable, desk: tuple[str, Path]) -> None:
    done = cli("a2a", "serve", "--port", desk[0].rpartition(":")[2])
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert "leave out --port for any that is free" in done.err
