"""Who is measured, in which venv, and by which commands its cold start is judged: data, no code."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent


@dataclass(frozen=True)
class Venv:
    """One virtual environment.

    Args:
        name: its folder below `.venvs`.
        requirements: from the package index.
        projects: folders of this repository; installed anew in each run, as built wheels.
        shown: distributions whose versions the report names.
    """

    name: str
    requirements: tuple[str, ...] = ()
    projects: tuple[Path, ...] = ()
    shown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contestant:
    """One that is measured.

    Args:
        name: how the tables call it.
        module: of `contestants`, run by the worker inside the venv.
        venv: where it is installed.
        full_path: its whole way of a call, look-up and validation included; what "faster than every peer" compares.
        cold: label to command line; `python` and programs are looked up in `cold_venv`.
        cold_venv: the venv of the cold start where that is another: what a user would have installed.
        mcp_venv: the venv of the sections of MCP where that is another.
        chat_module, chat_venv: what the sections of chat run, and where, where that is another.
        bindings_venv: the venv of the sections of manifests, for who has them.
    """

    name: str
    module: str
    venv: Venv
    full_path: str | None = None
    cold: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cold_venv: Venv | None = None
    mcp_venv: Venv | None = None
    chat_module: str | None = None
    chat_venv: Venv | None = None
    bindings_venv: Venv | None = None


@dataclass(frozen=True)
class Bridge:
    """One client of an MCP server: how the tables call it, its module of `contestants`, where it is installed."""

    contestant: str
    path: str
    module: str
    venv: Venv


@dataclass(frozen=True)
class Server:
    """One MCP server with one tool that adds two numbers.

    Args:
        contestant: whose it is.
        name: how the tables call it.
        venv: where it is installed.
        command: what starts it; `PORT` stands for the port that it listens on.
        tool: the name of its tool.
        ways: how it can be talked to: "2026-07-28", "session" (handshake era) or "stateless" (handshake era over HTTP,
            without a handshake).
    """

    contestant: str
    name: str
    venv: Venv
    command: tuple[str, ...]
    tool: str = "add"
    ways: tuple[str, ...] = ("2026-07-28", "session")


FLOORS = Venv(
    "floors",
    requirements=("trio", "attrs", "cattrs", "fastjsonschema", "jsonschema-rs", "hypercorn[trio]"),
    shown=("trio", "fastjsonschema", "jsonschema-rs"),
)
PEGBOARD = Venv("pegboard", projects=(ROOT / "core", HERE / "fixture_plugin"), shown=("pegboard", "trio"))
PEGBOARD_WITH_TOOLS = Venv(
    "pegboard-with-tools",
    projects=(
        ROOT / "core",
        ROOT / "plugins/pegboard-calculator",
        ROOT / "plugins/pegboard-dice",
        ROOT / "plugins/pegboard-time",
    ),
)
PEGBOARD_CHAT = Venv(
    "pegboard-chat",
    projects=(
        ROOT / "core",
        ROOT / "plugins/pegboard-httpclient",
        ROOT / "plugins/pegboard-chat",
        ROOT / "plugins/pegboard-openai",
        ROOT / "plugins/pegboard-anthropic",
        ROOT / "plugins/pegboard-cohere",
        ROOT / "plugins/pegboard-gemini",
    ),
    shown=("pegboard-chat",),
)
PEGBOARD_MANIFEST = Venv(
    "pegboard-manifest",
    projects=(
        ROOT / "core",
        ROOT / "plugins/pegboard-httpclient",
        ROOT / "plugins/pegboard-jsonschema-rs",
        ROOT / "plugins/pegboard-manifest",
    ),
    shown=("pegboard-manifest", "httpx2"),
)
PEGBOARD_MCP = Venv(
    "pegboard-mcp",
    projects=(
        ROOT / "core",
        ROOT / "plugins/pegboard-confine",
        ROOT / "plugins/pegboard-httpclient",
        ROOT / "plugins/pegboard-jsonschema-rs",
        ROOT / "plugins/pegboard-serving",
        ROOT / "plugins/pegboard-mcp",
        HERE / "fixture_plugin",
    ),
    shown=("pegboard-mcp",),
)
PEGBOARD_LAYERS = Venv("pegboard-layers", projects=(ROOT / "core", ROOT / "plugins/pegboard-cache"))
PEGBOARD_OBSERVED = Venv(
    "pegboard-observed",
    projects=(ROOT / "core", ROOT / "plugins/pegboard-otel"),
    shown=("opentelemetry-sdk",),
)
PEGBOARD_AUDITED = Venv("pegboard-audited", projects=(ROOT / "core", ROOT / "plugins/pegboard-audit"))
MCP = Venv("mcp", requirements=("mcp==2.3.*",), shown=("mcp",))
FASTMCP = Venv("fastmcp", requirements=("fastmcp==4.1.*",), shown=("fastmcp",))

_ADD = "async def add(a: float, b: float) -> float:\n    'Add two numbers.'\n    return a + b\n"
ONE_TOOL = "import, list one tool"
SERVER_FILE = "server.py"
SERVER = f"from fastmcp import FastMCP\nserver = FastMCP('one')\n{_ADD}server.tool(add)\n"
"""What `fastmcp list` is given; the cold section writes it to `SERVER_FILE` in its working folder."""


def _python(code: str) -> tuple[str, ...]:
    return ("python", "-c", _ADD + code)


CONTESTANTS = (
    Contestant(
        "floors",
        "floors",
        FLOORS,
        cold={"import trio": ("python", "-c", "import trio"), "import attrs": ("python", "-c", "import attrs")},
    ),
    Contestant(
        "pegboard",
        "pegboard",
        PEGBOARD,
        full_path="session.call, async",
        cold={
            "import pegboard": ("python", "-c", "import pegboard"),
            "pegboard list": ("pegboard", "list"),
            "pegboard call": ("pegboard", "call", "calculator", "expression=2+2"),
        },
        cold_venv=PEGBOARD_WITH_TOOLS,
        mcp_venv=PEGBOARD_MCP,
        chat_module="pegboard_chat_loop",
        chat_venv=PEGBOARD_CHAT,
        bindings_venv=PEGBOARD_MANIFEST,
    ),
    Contestant("pegboard-layers", "pegboard_layers", PEGBOARD_LAYERS),
    Contestant("pegboard-observed", "pegboard_observed", PEGBOARD_OBSERVED),
    Contestant("pegboard-audited", "pegboard_audited", PEGBOARD_AUDITED),
    Contestant("pegboard-flows", "pegboard_flows", PEGBOARD),
    Contestant(
        "mcp",
        "mcp_sdk",
        MCP,
        full_path="MCPServer.call_tool",
        cold={
            "import mcp": ("python", "-c", "import mcp"),
            ONE_TOOL: _python(
                "import asyncio\nfrom mcp.server.mcpserver import MCPServer\n"
                "s = MCPServer('one'); s.add_tool(add); asyncio.run(s.list_tools())"
            ),
        },
    ),
    Contestant(
        "fastmcp",
        "fastmcp",
        FASTMCP,
        full_path="FastMCP.call_tool",
        cold={
            ONE_TOOL: _python(
                "import asyncio\nfrom fastmcp import FastMCP\n"
                "s = FastMCP('one'); s.tool(add); asyncio.run(s.list_tools())"
            ),
            "fastmcp list": ("fastmcp", "list", SERVER_FILE),
        },
    ),
    Contestant(
        "llm",
        "llm",
        Venv("llm", requirements=("llm==0.36",), shown=("llm",)),
        full_path="execute_tool_call (no validation)",
        cold={ONE_TOOL: _python("import llm\nllm.Tool.function(add)"), "llm tools list": ("llm", "tools", "list")},
    ),
    Contestant(
        "langchain-core",
        "langchain",
        Venv("langchain-core", requirements=("langchain-core>=1,<2",), shown=("langchain-core",)),
        full_path="StructuredTool.ainvoke",
        cold={
            ONE_TOOL: _python(
                "from langchain_core.tools import tool\n"
                "from langchain_core.utils.function_calling import convert_to_openai_tool\n"
                "convert_to_openai_tool(tool(add))"
            )
        },
    ),
    Contestant(
        "langchain", "langchain_agent", Venv("langchain", requirements=("langchain>=1,<2",), shown=("langchain",))
    ),
    Contestant(
        "pydantic-ai",
        "pydantic_ai",
        Venv("pydantic-ai", requirements=("pydantic-ai-slim>=2,<3",), shown=("pydantic-ai-slim",)),
        full_path="ToolManager.handle_call",
        cold={ONE_TOOL: _python("from pydantic_ai import FunctionToolset\nFunctionToolset().add_function(add)")},
    ),
    Contestant(
        "semantic-kernel",
        "semantic_kernel",
        Venv("semantic-kernel", requirements=("semantic-kernel>=1,<2",), shown=("semantic-kernel",)),
        full_path="Kernel.invoke",
        cold={
            ONE_TOOL: _python(
                "from semantic_kernel import Kernel\nfrom semantic_kernel.functions import kernel_function\n"
                "k = Kernel(); k.add_function('one', kernel_function(add, name='add'))\n"
                "k.get_full_list_of_function_metadata()"
            )
        },
    ),
)
OURS = ("floors", "pegboard", "pegboard-layers", "pegboard-observed", "pegboard-audited", "pegboard-flows")
PEERS = tuple(one.name for one in CONTESTANTS if one.name not in OURS)

BRIDGES = (
    Bridge("floors", "lines of JSON on trio", "bridge_floor", FLOORS),
    Bridge("pegboard", "session.call", "bridge_pegboard", PEGBOARD_MCP),
    Bridge("mcp", "Client.call_tool, asyncio", "bridge_sdk", MCP),
    Bridge("mcp", "Client.call_tool, trio", "bridge_sdk_trio", PEGBOARD_MCP),
    Bridge("fastmcp", "Client.call_tool", "bridge_fastmcp", FASTMCP),
)
"""Clients that call `add` of one MCP server on stdio, in the order of the tables."""


def _peer(kind: str, *transport: str) -> tuple[str, ...]:
    return ("python", str(HERE / "mcp_server.py"), kind, *transport)


STDIO_SERVERS = (
    Server("floors", "lines of JSON on trio", FLOORS, _peer("trio", "stdio"), ways=("session",)),
    Server("pegboard", "pegboard serve, async", PEGBOARD_MCP, ("pegboard", "serve"), "bench_add_async"),
    Server("pegboard", "pegboard serve, in place", PEGBOARD_MCP, ("pegboard", "serve"), "bench_add"),
    Server("mcp", "lowlevel", MCP, _peer("lowlevel", "stdio")),
    Server("mcp", "MCPServer", MCP, _peer("mcpserver", "stdio")),
    Server("fastmcp", "FastMCP", FASTMCP, _peer("fastmcp", "stdio")),
)
_SERVE_HTTP = ("pegboard", "serve", "--transport", "http", "--port", "PORT")
HTTP_SERVERS = (
    Server("floors", "h11 on trio", FLOORS, _peer("h11", "http", "PORT"), ways=("stateless",)),
    Server("floors", "hypercorn on trio", FLOORS, _peer("hypercorn", "http", "PORT"), ways=("stateless",)),
    Server("pegboard", "pegboard serve, async", PEGBOARD_MCP, _SERVE_HTTP, "bench_add_async"),
    Server("pegboard", "pegboard serve, in place", PEGBOARD_MCP, _SERVE_HTTP, "bench_add"),
    Server("mcp", "lowlevel under uvicorn", MCP, _peer("lowlevel", "http", "PORT")),
    Server(
        "mcp", "lowlevel under uvicorn, stateless", MCP, _peer("lowlevel", "stateless", "PORT"), ways=("stateless",)
    ),
    Server("mcp", "MCPServer under uvicorn", MCP, _peer("mcpserver", "http", "PORT")),
    Server("fastmcp", "FastMCP under uvicorn", FASTMCP, _peer("fastmcp", "http", "PORT")),
)
