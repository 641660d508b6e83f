"""pegboard: `session.call` of a tool in place with nothing around it, with a layer that does nothing, and cached."""

from __future__ import annotations

from contextlib import asynccontextmanager

from workload import ADD_ARGS

import pegboard_cache.plugin
from contestants import Contestant, Path
from pegboard import Layer, hookimpl, open_host, tool

RUNNER = "trio"

PLAIN = "session.call, in place"
LAYER = "session.call, in place, a layer"
HIT = "session.call, in place, cached"


class Layering:
    """A layer around the tool `layered` alone."""

    name = "layering"

    @hookimpl
    def make_layers(self, tool):
        return Layer("nothing", _nothing) if tool.name == "layered" else None


async def _nothing(context, arguments, call_next):
    return await call_next()


def _add(name, tags=()):
    def add(a: float, b: float) -> float:
        """Add two numbers."""
        return a + b

    return tool(name=name, run="inplace", read_only=True, tags=tags)(add)


@asynccontextmanager
async def open_contestant():
    async with open_host(plugins=[pegboard_cache.plugin, Layering()]) as host:
        host.add(_add("plain"), _add("layered"), _add("cached", ["cache_s=86400"]))
        session = host.session()

        def call(name):
            return lambda: session.call(name, dict(ADD_ARGS))

        for name in ("plain", "layered", "cached", "cached"):
            result = await session.call(name, dict(ADD_ARGS))
            assert result.text == "4.0", result
        assert result.details["cache"] == "hit", result

        yield Contestant(
            calls={
                Path(PLAIN, "add"): call("plain"),
                Path(LAYER, "add"): call("layered"),
                Path(HIT, "add"): call("cached"),
            }
        )
