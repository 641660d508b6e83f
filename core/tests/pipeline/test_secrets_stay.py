"""A secret that a call has read leaves the host in no result, error, log, progress or question."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard import (
    AudioContent,
    BinaryContent,
    CallContext,
    ErrorCode,
    ImageContent,
    TextContent,
    ToolError,
    ToolResult,
    tool,
)

SECRET = 's3 "cr\\et\n€'


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRETS_TEST_KEY", SECRET)


def leaks(text: str, secret: str = SECRET) -> bool:
    forms = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    return any(form in text for form in forms)


def saying(make: Any, **options: Any) -> Any:
    """A tool that reads its secret and returns, or raises, what `make` makes of it."""

    def body(context: CallContext) -> Any:
        value = make(context.secret("SECRETS_TEST_KEY"))
        if isinstance(value, BaseException):
            raise value
        return value

    body.__annotations__ = {"context": CallContext}
    return tool(name="it", secrets=["SECRETS_TEST_KEY"], **{"run": "inplace", **options})(body)


WAYS = {
    "text": lambda secret: f"it is {secret}",
    "a key": lambda secret: {secret: 1},
    "deep inside": lambda secret: {"a": [{"b": (secret, 1)}]},
    "json in text": lambda secret: json.dumps({"key": secret}),
    "ascii json in text": lambda secret: json.dumps({"key": secret}, ensure_ascii=True),
    "bytes": lambda secret: secret.encode(),
    "blocks": lambda secret: [
        TextContent(secret),
        ImageContent(secret.encode()),
        AudioContent(secret.encode()),
        BinaryContent(None, uri=f"file:{secret}", name=secret),
        BinaryContent(secret.encode(), uri=secret),
        BinaryContent(b"", mime_type=f"x/{secret}"),
        ImageContent(b"", mime_type=secret),
    ],
    "a result": lambda secret: ToolResult(content=(TextContent(secret),), data={"a": secret}, details={"b": secret}),
    "an error result": lambda secret: ToolResult.error("CONFLICT", secret, owner=secret),
    "a raised error": lambda secret: ToolError("CONFLICT", secret, owner=secret),
    "an exception": lambda secret: ValueError(secret),
    "a group": lambda secret: ExceptionGroup(secret, [ValueError(secret)]),
}


@pytest.mark.parametrize("run", ["inplace", "thread"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_secret_is_masked_whichever_way_it_leaves(hosted: Any, way: str, run: str, caplog: Any) -> None:
    caplog.set_level(logging.DEBUG)
    async with hosted(saying(WAYS[way], run=run)) as host:
        result = await host.session().call("it")
    assert not leaks(json.dumps(result.to_json(), ensure_ascii=False)), result
    assert all(SECRET.encode() not in (getattr(block, "data", None) or b"") for block in result.content)
    assert not leaks(caplog.text)


async def test_what_is_kept_to_be_read_later_is_masked_too(hosted: Any) -> None:
    async with hosted(saying(lambda secret: f"{secret} " * 50_000)) as host:
        session = host.session()
        cut = await session.call("it")
        key = cut.details["cut"]["id"]
        pages = [
            await session.call("read_result", {"id": key, "page": n + 1}) for n in range(cut.details["cut"]["pages"])
        ]
    assert len(pages) > 1
    for page in [cut, *pages]:
        assert page.ok
        assert not leaks(page.text)
        assert "***" in page.text


async def test_logs_progress_and_questions_are_masked(hosted: Any, caplog: Any) -> None:
    caplog.set_level(logging.INFO, "pegboard.tool")
    told: list[str] = []

    @tool(secrets=["SECRETS_TEST_KEY"])
    async def it(context: CallContext) -> None:
        secret = context.secret("SECRETS_TEST_KEY")
        context.log.info("key %s", secret)
        context.log.info(f"key {secret}")
        context.log.debug("not shown %s", secret)
        await context.progress(1, message=f"with {secret}")
        await context.confirm(f"use {secret}?")

    async def hear(call_id: str, done: float, total: float | None, message: str | None) -> None:
        told.append(str(message))

    async def yes(asked: Any) -> bool:
        told.append(asked.question)
        return True

    async with hosted(it) as host:
        assert (await host.session(confirm=yes, on_progress=hear).call("it")).ok
    assert told == ["with ***", "use ***?"]
    assert [record.getMessage() for record in caplog.records] == ["key ***", "key ***"]


async def test_only_declared_secrets_can_be_read_and_a_missing_one_names_its_variable(
    hosted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tool(secrets=["SECRETS_TEST_KEY"], run="inplace")
    def it(context: CallContext, name: str) -> str:
        return context.secret(name)

    async with hosted(it) as host:
        session = host.session()
        undeclared = await session.call("it", {"name": "PATH"})
        assert undeclared.error.code is ErrorCode.INTERNAL_ERROR
        monkeypatch.delenv("SECRETS_TEST_KEY")
        missing = await session.call("it", {"name": "SECRETS_TEST_KEY"})
    assert missing.error.code is ErrorCode.FORBIDDEN
    assert missing.error.details["reason"] == "secret"
    assert "SECRETS_TEST_KEY" in missing.text


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    secret=st.text(st.characters(exclude_characters="\0[]", exclude_categories=["Cs"]), min_size=1, max_size=12),
    fails=st.booleans(),
)
def test_any_secret_is_masked_and_the_result_stays_a_result(
    hosted: Any, monkeypatch: pytest.MonkeyPatch, secret: str, fails: bool
) -> None:
    """Whatever the secret is, even a word of a result's own JSON, the answer is a result without it in its texts."""
    monkeypatch.setenv("SECRETS_TEST_KEY", secret)

    def make(value: str) -> Any:
        return ToolError("CONFLICT", f"[{value}]", a=value) if fails else {"a": f"[{value}]", "b": [value]}

    async def main() -> ToolResult:
        async with hosted(saying(make)) as host:
            return await host.session().call("it")

    result = trio.run(main)
    json.dumps(result.to_json())
    if fails:
        assert result.error.message == "[***]"
        assert result.error.code is ErrorCode.CONFLICT
    else:
        assert list(result.data.values()) == ["[***]", ["***"]]
