import trio

from pegboard import open_host, tool


@tool(category="money", read_only=True)
def split_bill(total: float, people: int, tip_percent: float = 10) -> float:
    """What each person pays, to the cent.

    Args:
        total: the sum on the bill.
        people: how many share it.
        tip_percent: what is added, in per cent of the total.
    """
    return round(total * (1 + tip_percent / 100) / people, 2)


async def main() -> None:
    async with open_host() as host:  # every plugin that is installed is on it
        host.add(split_bill)
        session = host.session(user_id="ada")
        result = await session.call("split_bill", {"total": 84, "people": 3})
        print(result.text, result.data)
        result = await session.call("split_bill", {"total": "84", "people": 2.5, "tip": 5})
        print(result.text)
        result = await session.call("calculater", {"expression": "2 + 2"})
        print(repr(result.error))


trio.run(main)
