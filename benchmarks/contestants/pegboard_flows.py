"""pegboard: `session.call` of a tool that sends mail, where every source is trusted, and where the session has read one
result, ten and a hundred of a source that is not: what each call costs that is looked through for their words.
"""

from __future__ import annotations

import random
from contextlib import AsyncExitStack, asynccontextmanager

import trio

from contestants import Contestant, Path
from pegboard import SourceState, hookimpl, open_host, tool

RUNNER = "trio"

READ = {f"{count} of {size // 1000} kB": (count, size) for size in (2_000, 100_000) for count in (1, 10, 100)}
"""What a session has read: how many results, of how many letters each."""
WORDS = random.Random(7).choices("abcdefghijklmnopqrstuvwxyz", k=40_000)
BODY = (
    "Shall we meet on Thursday at noon? I will bring the papers of the last meeting, and the two offers that "
    "we had for the roof. If that does not suit you, tell me when it does. Kind regards, Ada"
)
MAIL = {"to": "bob@corp.com", "subject": "Lunch on Thursday", "body": BODY}
LONG_MAIL = {**MAIL, "body": (BODY + "\n\n") * 10}


def _text(seed, size):
    """Words of a language of its own, five thousand of them, that no two seeds put in one order."""
    drawn = random.Random(seed)
    starts = (drawn.randrange(5_000) * 8 for _ in range(size // 5))
    return " ".join("".join(WORDS[start : start + 2 + start % 7]) for start in starts)[:size]


@tool(read_only=True, max_result_bytes=400_000)
async def read_page(seed: int, size: int) -> str:
    """Read a page that somebody else wrote."""
    return _text(seed, size)


@tool(destructive=True)
async def send_mail(to: str, subject: str, body: str) -> str:
    """Send mail."""
    return "sent"


class Source:
    """Of one tool and perhaps more, that nobody said to trust or that somebody did."""

    timeout_s = None

    def __init__(self, name="web", tools=(read_page,), *, trusted=False):
        self.name, self._tools, self.trusted = name, tools, trusted

    def known(self):
        return self._tools

    async def run(self, slot):
        slot.set_state(SourceState.READY)
        await trio.sleep_forever()


class Plugin:
    """Brings that source."""

    name = "pages"

    def __init__(self, *sources):
        self._sources = sources

    @hookimpl
    def provide_sources(self):
        return self._sources


def _many():
    """Ten sources of fifty tools, each with a description of a thousand letters."""

    async def work(text: str) -> str:
        return text

    for number in range(10):
        seeds = range(50 * number, 50 * number + 50)
        yield Source(
            f"many{number}",
            [tool(name=f"work_{seed}", description=_text(seed, 1_000), read_only=True)(work) for seed in seeds],
        )


@asynccontextmanager
async def open_contestant():
    calls = {}
    async with AsyncExitStack() as stack:
        sources = {True: [Source(trusted=True)], False: [Source()], "many": [*_many()]}
        hosts = {}
        for which, some in sources.items():
            hosts[which] = await stack.enter_async_context(open_host(plugins=[Plugin(*some)]))
            hosts[which].add(send_mail)
        sessions = {"": hosts[True].session(), ", nothing read": hosts[False].session()}
        sessions[", nothing read of 500 tools"] = hosts["many"].session()
        for name, (count, size) in READ.items():
            session = sessions[f", {name} read"] = hosts[False].session()
            for seed in range(count):
                assert (await session.call("read_page", {"seed": seed, "size": size})).ok
        for way, session in sessions.items():
            for name, mail in (("mail", MAIL), ("long mail", LONG_MAIL)):
                result = await session.call("send_mail", dict(mail))
                assert result.text == "sent", result
                calls[Path(f"session.call, async{way}", name)] = lambda session=session, mail=mail: session.call(
                    "send_mail", dict(mail)
                )
        yield Contestant(calls=calls)
