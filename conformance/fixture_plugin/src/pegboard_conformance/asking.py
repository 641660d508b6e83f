"""Tools that ask the client back: its model, its person, its roots.

In the handshake era the questions are requests of the server's; in the stateless era the call ends with what it needs
to know, and the client calls again with the answers. The tools are the same for both: the peer sees to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import CallContext, ErrorCode, ToolError, tool
from pegboard_mcp.server.peer import Peer, peer_of

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]


def form(message: str, name: str, kind: str = "string", *, key: str | None = None) -> Json:
    """The arguments of an elicitation that asks for one value."""
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return {"message": message, "schema": schema, "key": key}


def _question(text: str, max_tokens: int = 100) -> Json:
    return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "maxTokens": max_tokens}


def _peer(context: CallContext) -> Peer:
    peer = peer_of(context)
    if peer is None:
        raise ToolError(ErrorCode.FORBIDDEN, "only an MCP client can answer what this tool asks")
    return peer


def _said(answer: Mapping[str, Any]) -> str:
    return f"action={answer['action']}, content={answer.get('content') or {}}"


@tool
async def test_sampling(context: CallContext, prompt: str) -> str:
    """Ask the client's model.

    Args:
        prompt: what it is asked.
    """
    answer = await _peer(context).sample(_question(prompt))
    return f"LLM response: {answer['content'].get('text', '')}"


@tool
async def test_elicitation(context: CallContext, message: str) -> str:
    """Ask the person for a name and an address.

    Args:
        message: what the person reads.
    """
    properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    schema = {"type": "object", "properties": properties, "required": ["username", "email"]}
    return f"User response: {_said(await _peer(context).elicit(message, schema))}"


@tool
async def test_elicitation_sep1034_defaults(context: CallContext) -> str:
    """Ask the person by a form whose fields have defaults."""
    properties = {
        "name": {"type": "string", "description": "User name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User age", "default": 30},
        "score": {"type": "number", "description": "User score", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "description": "Verification status", "default": True},
    }
    schema = {"type": "object", "properties": properties}
    return f"Elicitation completed: {_said(await _peer(context).elicit('Please fill in', schema))}"


@tool
async def test_elicitation_sep1330_enums(context: CallContext) -> str:
    """Ask the person by a form with every kind of choice."""
    properties = {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": _titled("Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": _titled("Choice")}},
    }
    schema = {"type": "object", "properties": properties}
    return f"Elicitation completed: {_said(await _peer(context).elicit('Please choose', schema))}"


def _titled(word: str) -> list[Json]:
    return [{"const": f"value{number}", "title": f"{nth} {word}"} for number, nth in enumerate(("First", "Second"), 1)]


# The names below say what the stateless era makes of a question: a result that requires input.


@tool
async def test_streaming_elicitation(context: CallContext) -> str:
    """Ask the person in the middle of a call."""
    return _said(await _peer(context).elicit(**form("Shall the call go on?", "answer")))


@tool
async def test_missing_capability(context: CallContext) -> str:
    """Need a model, whatever the client has."""
    await _peer(context).sample(_question("Is there a model?"))
    return "There is a model."


@tool
async def test_input_required_result_elicitation(context: CallContext) -> str:
    """Ask for a name, and greet."""
    answer = await _peer(context).elicit(**form("What is your name?", "name", key="user_name"))
    return f"Hello, {(answer.get('content') or {}).get('name', 'world')}!"


@tool
async def test_input_required_result_sampling(context: CallContext) -> str:
    """Ask the client's model for a capital."""
    answer = await _peer(context).sample(_question("What is the capital of France?"), key="capital_question")
    return str(answer["content"].get("text", ""))


@tool
async def test_input_required_result_list_roots(context: CallContext) -> str:
    """Ask for the client's roots."""
    roots = await _peer(context).roots(key="client_roots")
    return f"Roots: {', '.join(root['uri'] for root in roots)}"


@tool
async def test_input_required_result_request_state(context: CallContext) -> str:
    """Ask, and know the call again by its state."""
    await _peer(context).elicit(**form("Please confirm", "ok", "boolean", key="confirm"))
    return "state-ok"


@tool
async def test_input_required_result_tampered_state(context: CallContext) -> str:
    """Ask, and refuse a state that somebody changed."""
    await _peer(context).elicit(**form("Please confirm", "ok", "boolean", key="confirm"))
    return "state-ok"


@tool
async def test_input_required_result_multiple_inputs(context: CallContext) -> str:
    """Ask for three things at once."""
    import trio

    peer = _peer(context)
    answers: dict[str, Any] = {}

    async def name() -> None:
        answers["name"] = await peer.elicit(**form("What is your name?", "name", key="user_name"))

    async def greeting() -> None:
        answers["greeting"] = await peer.sample(_question("Generate a greeting", 50), key="greeting")

    async def roots() -> None:
        answers["roots"] = await peer.roots(key="client_roots")

    async with trio.open_nursery() as nursery:
        for ask in (name, greeting, roots):
            nursery.start_soon(ask)
    return f"Learned: {', '.join(sorted(answers))}"


@tool
async def test_input_required_result_multi_round(context: CallContext) -> str:
    """Ask for one thing after another."""
    peer = _peer(context)
    name = await peer.elicit(**form("Step 1: What is your name?", "name", key="step1"))
    colour = await peer.elicit(**form("Step 2: What is your favorite color?", "color", key="step2"))
    return f"{_said(name)}; {_said(colour)}"


@tool
async def test_input_required_result_capabilities(context: CallContext) -> str:
    """Ask for no more than what the client can answer."""
    peer, said = _peer(context), []
    if "elicitation" in peer.capabilities:
        said.append(_said(await peer.elicit(**form("What is your name?", "name"))))
    if "sampling" in peer.capabilities:
        said.append(str((await peer.sample(_question("Generate a greeting")))["content"]))
    return "; ".join(said) or "There was nothing that the client could be asked."


TOOLS = (
    test_sampling,
    test_elicitation,
    test_elicitation_sep1034_defaults,
    test_elicitation_sep1330_enums,
    test_streaming_elicitation,
    test_missing_capability,
    test_input_required_result_elicitation,
    test_input_required_result_sampling,
    test_input_required_result_list_roots,
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_multiple_inputs,
    test_input_required_result_multi_round,
    test_input_required_result_capabilities,
)
