"""Tools that ask a person first."""

from __future__ import annotations

from typing import Any

import pytest

from pegboard import CallContext, ErrorCode, Tool, tool

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@tool(run="inplace", requires_confirmation="Delete it for good?")
def delete(path: str) -> str:
    ran.append(path)
    return "gone"


class Person:
    """Answers what they were told to, and remembers what they were asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []

    async def __call__(self, asked: Any) -> Any:
        self.asked.append(asked)
        return self.answers.pop(0)


async def test_a_yes_runs_it_and_a_no_does_not(hosted: Any) -> None:
    person = Person(True, False)
    async with hosted(delete) as host:
        session = host.session(confirm=person)
        assert (await session.call("delete", {"path": "a"})).text == "gone"
        result = await session.call("delete", {"path": "b"})
    assert result.error.code is ErrorCode.FORBIDDEN
    assert result.error.details["reason"] == "confirmation"
    assert ran == ["a"]
    asked = person.asked[0]
    assert (asked.question, asked.tool.name, dict(asked.arguments)) == ("Delete it for good?", "delete", {"path": "a"})
    assert asked.session is session


@pytest.mark.parametrize("answer", ["yes", "y", 1, None, "", [True], {"ok": True}, "Session"])
async def test_nothing_but_a_plain_yes_is_a_yes(hosted: Any, answer: Any) -> None:
    async with hosted(delete) as host:
        assert not (await host.session(confirm=Person(answer)).call("delete", {"path": "a"})).ok
    assert not ran


async def test_with_nobody_to_ask_it_is_forbidden_and_says_so(hosted: Any) -> None:
    async with hosted(delete) as host:
        session = host.session()
        result = await session.call("delete", {"path": "a"})
        checked = session.check("delete", {"path": "a"})
    assert result.error.code is ErrorCode.FORBIDDEN
    assert "nobody to ask" in result.text
    assert result.error.details["retry"] == "changed"
    assert checked.data["would_run"] is False
    assert checked.data["asks"][0]["code"] == "FORBIDDEN"
    assert not ran


async def test_wrong_arguments_are_told_before_anybody_is_asked(hosted: Any) -> None:
    person = Person()
    async with hosted(delete) as host:
        result = await host.session(confirm=person).call("delete", {"path": 5})
    assert result.error.code is ErrorCode.INVALID_INPUT
    assert not person.asked


async def test_an_approval_for_the_session_is_for_this_session_and_this_very_tool(hosted: Any) -> None:
    async with hosted(delete) as host:
        person = Person("session", False)
        session = host.session(confirm=person)
        for name in "abc":
            assert (await session.call("delete", {"path": name})).ok
        assert len(person.asked) == 1
        assert session.check("delete", {"path": "a"}).data["asks"] == []
        other = host.session(confirm=Person(False))
        assert not (await other.call("delete", {"path": "d"})).ok
        host.remove("delete")
        host.add(tool(name="delete", description="Another", requires_confirmation=True)(delete.handler))
        assert not (await session.call("delete", {"path": "e"})).ok
    assert ran == ["a", "b", "c"]
    assert person.asked[1].question == "Run 'delete'?"


async def test_a_question_that_waited_knows_that_it_was_answered_meanwhile(hosted: Any) -> None:
    seen: list[tuple[bool, bool]] = []

    @tool(requires_confirmation=True)
    async def wipe(context: CallContext) -> bool:
        """Wipe."""
        return await context.confirm("Really?")

    async def confirm(asked: Any) -> Any:
        seen.append((asked.is_running, asked.is_answered))
        asked.session.approvals.add(asked.tool.fingerprint)
        seen.append((asked.is_running, asked.is_answered))
        return "session"

    async with hosted(wipe) as host:
        assert (await host.session(confirm=confirm).call("wipe")).data == {"result": True}
    assert seen == [(False, False), (False, True), (True, False), (True, False)]


async def test_what_a_call_would_ask_can_be_foreseen(hosted: Any) -> None:
    async with hosted(delete) as host:
        person = Person()
        checked = host.session(confirm=person).check("delete", {"path": "a"})
    assert checked.data["would_run"] is True
    assert checked.data["asks"] == [{"guard": "confirmation", "stage": "approve", "says": "asks: Delete it for good?"}]
    assert "approve (confirmation): asks" in checked.text
    assert not person.asked


async def test_a_person_that_breaks_is_not_a_yes(hosted: Any, caplog: Any) -> None:
    async def broken(asked: Any) -> bool:
        raise SystemExit(1)

    def plain(asked: Any) -> bool:
        return True

    async with hosted(delete) as host:
        for confirm in (broken, plain):
            result = await host.session(confirm=confirm).call("delete", {"path": "a"})
            assert result.error.code is ErrorCode.INTERNAL_ERROR
    assert not ran


async def test_in_mode_observe_nobody_is_asked_and_nothing_refused(hosted: Any, listening: Any, ear: Any) -> None:
    person = Person()
    async with hosted(delete, config={"observe": ["confirmation"]}, plugins=[listening]) as host:
        assert (await host.session(confirm=person).call("delete", {"path": "a"})).ok
        assert ("confirmation", "passed") in ear.verdicts()
        assert (await host.session().call("delete", {"path": "b"})).ok
        assert ("confirmation", "would_refuse") in ear.verdicts()
        checked = host.session().check("delete", {"path": "b"})
    assert checked.data["would_run"] is True
    assert checked.data["asks"][0]["would_be"] == "FORBIDDEN"
    assert not person.asked


async def test_a_running_tool_may_ask_too(hosted: Any) -> None:
    @tool
    async def careful(context: CallContext) -> bool:
        return await context.confirm("Really?")

    async with hosted(careful) as host:
        assert (await host.session(confirm=Person(True)).call("careful")).data == {"result": True}
        assert (await host.session(confirm=Person(False)).call("careful")).data == {"result": False}
        result = await host.session().call("careful")
    assert result.error.code is ErrorCode.FORBIDDEN
    assert result.error.details["reason"] == "confirmation"


async def test_a_profile_may_require_confirmation_of_every_tool(hosted: Any) -> None:
    harmless = Tool(name="harmless", handler=lambda: "done", run="inplace")
    async with hosted(harmless, config={"profiles": {"careful": {"requires_confirmation": True}}}) as host:
        assert (await host.session().call("harmless")).ok
        assert not (await host.session(profile="careful").call("harmless")).ok
        assert (await host.session(profile="careful", confirm=Person(True)).call("harmless")).ok
