"""Runs in a child process of `record`: the tools of one manifest are called on a board, and their answers written.

    python -m pegboard_toolgen._recorder DESCRIPTOR MANIFEST CALLS SHIFT

CALLS is a JSON list of `[name, arguments]`; one line of JSON a call goes to the descriptor, in order: the result's
data, or null. SHIFT are seconds that the clock of Python is put forward, so that an answer that depends on the day
differs.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

CALL_S = 10.0


def shift_clock(seconds: float) -> None:
    """Put forward what Python code takes for now; before anything else is imported."""
    real_datetime: Any = datetime.datetime
    real_date: Any = datetime.date
    real_time: Any = time.time
    real_localtime: Any = time.localtime
    real_gmtime: Any = time.gmtime
    real_strftime: Any = time.strftime

    class IsDatetime(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, real_datetime)

    class IsDate(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, real_date)

    class ShiftedDatetime(real_datetime, metaclass=IsDatetime):  # type: ignore[misc]
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return real_datetime.now(tz) + datetime.timedelta(seconds=seconds)

        @classmethod
        def utcnow(cls) -> Any:
            return real_datetime.now(datetime.UTC).replace(tzinfo=None) + datetime.timedelta(seconds=seconds)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

        def __repr__(self) -> str:
            return f"datetime.datetime({super().__repr__().partition('(')[2]}"

    class ShiftedDate(real_date, metaclass=IsDate):  # type: ignore[misc]
        @classmethod
        def today(cls) -> Any:
            return ShiftedDatetime.now().date()

        def __repr__(self) -> str:
            return f"datetime.date({super().__repr__().partition('(')[2]}"

    datetime.datetime, datetime.date = ShiftedDatetime, ShiftedDate  # type: ignore[misc]

    def now() -> float:
        return float(real_time() + seconds)

    def localtime(when: float | None = None) -> Any:
        return real_localtime(now() if when is None else when)

    def gmtime(when: float | None = None) -> Any:
        return real_gmtime(now() if when is None else when)

    def strftime(shape: str, when: Any = None) -> Any:
        return real_strftime(shape, localtime() if when is None else when)

    time.time, time.localtime, time.gmtime, time.strftime = now, localtime, gmtime, strftime  # type: ignore[assignment]


def main(descriptor: str, manifest: str, calls: str, shift: str) -> None:
    """Call them all, one after the other."""
    if float(shift):
        shift_clock(float(shift))
    os.chdir(Path(manifest).parent)
    import trio

    async def run() -> None:
        from pegboard import open_host, thaw

        config = {"plugins": {"manifest": {"files": [manifest]}}}
        async with open_host(config, plugins=["manifest", "jsonschema_rs"]) as host:
            session = host.session()
            for name, arguments in json.loads(Path(calls).read_text(encoding="utf-8")):
                result = await session.call(name, arguments, timeout_s=CALL_S)
                answer = {"data": thaw(result.data)} if result.ok and result.data is not None else None
                os.write(int(descriptor), json.dumps(answer).encode() + b"\n")

    trio.run(run)


if __name__ == "__main__":
    main(*sys.argv[1:])
