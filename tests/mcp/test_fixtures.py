"""The fixture server does what the official suite asks for, in both eras, without the suite."""

from __future__ import annotations

import pytest
from mcp import Client, MCPError
from mcp.types import TextContent

from ai_evolution.mcp.fixtures import PROMPTS, TOOLS, fixture_server

ERAS = ("2026-07-28", "legacy")

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("era", ERAS)
async def test_it_offers_in_either_era_what_the_suite_looks_for(era: str) -> None:
    async with Client(fixture_server(), mode=era) as client:
        tools = (await client.list_tools()).tools
        prompts = (await client.list_prompts()).prompts
        resources = (await client.list_resources()).resources
    assert [tool.name for tool in tools] == list(TOOLS)
    assert [prompt.name for prompt in prompts] == list(PROMPTS)
    assert {"test://static-text", "test://static-binary", "test://watched-resource"} == {
        r.uri for r in resources
    }


@pytest.mark.parametrize("era", ERAS)
async def test_a_name_that_it_does_not_have_is_a_protocol_error_and_not_a_result(era: str) -> None:
    async with Client(fixture_server(), mode=era) as client:
        for asking in (
            client.call_tool("no_such_tool", {}),
            client.get_prompt("no_such_prompt", {}),
            client.read_resource("test://nothing"),
        ):
            with pytest.raises(MCPError) as refused:
                await asking
            assert refused.value.code == -32602


@pytest.mark.parametrize("era", ERAS)
async def test_arguments_are_held_to_the_published_schema(era: str) -> None:
    async with Client(fixture_server(), mode=era) as client:
        good = await client.call_tool("own_sum", {"a": 2, "b": 3})
        coerced = await client.call_tool("own_sum", {"a": "2", "b": 3})
    assert good.structured_content == {"sum": 5, "says": "It is 5."}
    assert coerced.is_error
    assert isinstance(coerced.content[0], TextContent)
    assert "$.a" in coerced.content[0].text


async def test_two_servers_share_nothing() -> None:
    one, other = fixture_server(), fixture_server()
    async with Client(one) as client:
        state = (await client.call_tool("own_traces", {})).structured_content
    async with Client(other) as client:
        assert (await client.call_tool("own_traces", {})).structured_content == state
    assert one is not other
