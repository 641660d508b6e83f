"""semantic-kernel: `Kernel.invoke`."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager

from semantic_kernel import Kernel
from semantic_kernel.connectors.ai.function_calling_utils import kernel_function_metadata_to_function_call_format
from semantic_kernel.functions import KernelArguments, kernel_function
from workload import ADD_ARGS, BAD_ADD_ARGS, RICH_ARGS, TOOL_MS, add, rich_with_pydantic

from contestants import Contestant, Path, Registry, refused

RUNNER = "asyncio"
PATH = "Kernel.invoke"


async def sleep10(i: int) -> int:
    """Sleep."""
    await asyncio.sleep(TOOL_MS / 1000)
    return i


def _build(functions):
    kernel = Kernel()
    for function in functions:
        kernel.add_function("many", kernel_function(function, name=function.__name__))
    return kernel


async def _listing(kernel):
    return [
        kernel_function_metadata_to_function_call_format(one) for one in kernel.get_full_list_of_function_metadata()
    ]


def _call_of_many(kernel, name, arguments):
    return kernel.invoke(function_name=name, plugin_name="many", arguments=KernelArguments(**arguments))


@asynccontextmanager
async def open_contestant():
    logging.disable(logging.CRITICAL)
    kernel = Kernel()
    tool_add = kernel.add_function("bench", kernel_function(add, name="add"))
    tool_sleep = kernel.add_function("bench", kernel_function(sleep10, name="sleep10"))
    tool_rich = kernel.add_function("bench", kernel_function(rich_with_pydantic(), name="rich"))

    async def parallel(count):
        await asyncio.gather(*(kernel.invoke(tool_sleep, KernelArguments(i=index)) for index in range(count)))

    assert (await kernel.invoke(tool_add, KernelArguments(**ADD_ARGS))).value == 4.0
    assert "Quarterly" in (await kernel.invoke(tool_rich, KernelArguments(**RICH_ARGS))).value
    yield Contestant(
        calls={
            Path(PATH, "add"): lambda: kernel.invoke(tool_add, KernelArguments(**ADD_ARGS)),
            Path(PATH, "rich"): lambda: kernel.invoke(tool_rich, KernelArguments(**RICH_ARGS)),
            Path(PATH, "bad"): lambda: refused(kernel.invoke(tool_add, KernelArguments(**BAD_ADD_ARGS))),
        },
        parallels={PATH: parallel},
        registries={"Kernel": Registry(_build, _listing, _call_of_many)},
    )
