"""What `pegboard nats init` writes holds on a real server, and doctor tells where it does not."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio

import pegboard_nats.plugin
from pegboard import CallContext, Finding, PluginError, TextContent, ToolResult, load_board, open_host, tool
from pegboard.cli._program import Program
from pegboard_nats import wire
from pegboard_nats.bots import Bots
from pegboard_nats.checks import check_servers, make_checks, role_of
from pegboard_nats.claims import Claims
from pegboard_nats.client import Servers, open_client
from pegboard_nats.commands import _state_asked, _with_link, _workers_asked
from pegboard_nats.executor import at_worker_of
from pegboard_nats.limit_store import NatsStore
from pegboard_nats.mailbox import DeniedError
from pegboard_nats.settings import GroupSettings, NatsSettings
from pegboard_nats.source import find_workers
from pegboard_nats.worker import Worker

if TYPE_CHECKING:
    from conftest import NatsServer


def pegboard(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pegboard", "--plugin", "nats", *words]
    environment = {**os.environ, "XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `pegboard nats init` wrote."""
    folder = tmp_path_factory.mktemp("init")
    done = pegboard(folder, "nats", "init")
    assert done.returncode == 0, done.stderr
    return folder / "nats"


@pytest.fixture
def server(keys: Path, start_server: Any) -> NatsServer:
    """A server with that configuration, on a free port."""
    lines = (keys / "nats-server.conf").read_text().splitlines()
    started: NatsServer = start_server("\n".join(line for line in lines if not line.startswith("listen")))
    return started


def settings_of(server: NatsServer, keys: Path, name: str | None, *groups: str) -> NatsSettings:
    credentials = None if name is None else str(keys / f"{name}.nk")
    return NatsSettings(
        servers=(server.url,), credentials=credentials, groups={group: GroupSettings() for group in groups}
    )


def test_the_files_are_secret_and_never_written_over(keys: Path) -> None:
    before = {path: path.read_bytes() for path in keys.iterdir() if path.is_file()}  # a server adds folders
    assert {path.name for path in before} == {"nats-server.conf", "host.nk", "worker.nk", "watcher.nk"}
    if os.name == "posix":
        assert {stat.S_IMODE(path.stat().st_mode) for path in before} == {0o600}
    again = pegboard(keys.parent, "nats", "init")
    assert (again.returncode, again.stdout) == (2, "")
    assert "is there already" in again.stderr
    assert {path: path.read_bytes() for path in keys.iterdir() if path.is_file()} == before
    seeds = [path.read_text().strip() for path in before if path.suffix == ".nk"]
    assert not any(seed in (keys / "nats-server.conf").read_text() for seed in seeds)


async def call_a_worker(server: NatsServer, keys: Path, worker: str, group: str, of: str | None = None) -> None:
    """A host calls a worker that has that key: questions, large results, records of calls, what became of one.

    Args:
        server: of them.
        keys: the folder of the keys.
        worker: the name of its key.
        group: which it serves.
        of: the group that alone its key is for; None: it is for all.
    """

    @tool
    async def large(size: int, context: CallContext) -> str:
        """Ask, and be large."""
        return "x" * size if await context.confirm("So large?") else ""

    async def person(confirmation: Any) -> bool:
        return True

    own = {"servers": [server.url], "groups": {group: {}}, "credentials": str(keys / "host.nk"), "claims": True}
    config = {"plugins": {"nats": own}}
    workers = settings_of(server, keys, worker)
    async with (
        open_host({}, []) as board,
        open_client(workers.link("worker", role="worker", group=of)) as client,
        trio.open_nursery() as nursery,
    ):
        board.add(large)
        await nursery.start(Worker(board, client, wire.Subjects("pb", group), concurrency=9, drain_s=9).run)
        async with open_host(config, [pegboard_nats.plugin]) as host:
            with trio.fail_after(30):
                while "large" not in host.tools:
                    await host.wait_source_moved()
            result = await host.session("ada", confirm=person).call("large", {"size": 90_000})
            assert len(result.text) == 90_000
        host_key = settings_of(server, keys, "host")
        assert await _with_link(host_key, "test", "host", _state_asked, "pb", group, "never-begun") is None
        watcher = settings_of(server, keys, "watcher")
        async with open_client(watcher.link("watcher", role="watcher")) as looking:
            await looking.wait_connected()
            assert [one["metadata"]["group"] for one in (await find_workers(looking, "STATS", "pb")).answers] == [group]
        nursery.cancel_scope.cancel()


async def test_hosts_call_workers_answer_and_limits_are_counted(server: NatsServer, keys: Path) -> None:
    await call_a_worker(server, keys, "worker", "g")
    for role in ("host", "worker"):
        store = NatsStore(settings_of(server, keys, role))
        assert await store.claim(f"key-{role}", 60) == 0
        assert await store.claim(f"key-{role}", 60) > 0
        await store.aclose()


@tool
async def act() -> str:
    """Act."""
    return "done"


@pytest.mark.parametrize("role", ["watcher", "host"])
async def test_the_key_of_a_watcher_or_a_host_is_enough_for_status(server: NatsServer, keys: Path, role: str) -> None:
    told, answers = await _with_link(settings_of(server, keys, role), "test", "watcher", _workers_asked, "pb", None)
    assert (bool(told["version"]), answers) == (True, ([], True))


async def test_the_key_of_a_worker_is_told_that_it_may_not_ask(server: NatsServer, keys: Path) -> None:
    with pytest.raises(PluginError, match="does not let us") as caught:
        await _with_link(settings_of(server, keys, "worker"), "test", "watcher", _workers_asked, "pb", None)
    assert "key of a watcher" in (caught.value.hint or "")


@pytest.mark.parametrize("role", ["worker", "watcher"])
async def test_who_is_no_host_cannot_call_nor_cancel_nor_hear(server: NatsServer, keys: Path, role: Any) -> None:
    heard: list[Any] = []
    async with (
        open_client(settings_of(server, keys, role).link(role, role=role)) as client,
        open_client(settings_of(server, keys, "host").link("host", role="host")) as host,
    ):
        await client.wait_connected()
        await host.wait_connected()
        for subject in ("pb.g.call.add", "pb.g.cancel.all", "pb-mcp.process.p", "pb-tasks.a.b"):
            with pytest.raises(DeniedError):
                await client.request(subject, timeout_s=30)
        client.subscribe("_INBOX.host.>", heard.append)
        client.subscribe("pb-mcp.>", heard.append)  # where the tokens of clients pass
        await client.flush()
        await find_workers(host, "PING", "pb")
        host.publish_nowait("pb-mcp.process.p")
        await host.flush()
        await client.flush()
    assert heard == []


def test_doctor_finds_nothing_wrong_with_it(server: NatsServer, keys: Path) -> None:
    assert list(check_servers(settings_of(server, keys, "host", "g"), "host")) == []
    assert list(check_servers(settings_of(server, keys, "worker"), "worker")) == []


def test_doctor_tells_a_host_that_its_prefix_is_not_that_of_its_key(server: NatsServer, keys: Path) -> None:
    """It said that nothing is wrong, and `status` that no worker is there."""
    settings = attrs.evolve(settings_of(server, keys, "host", "g"), prefix="other")
    (found,) = check_servers(settings, "host")
    assert found.what == "the key may not call"
    assert "'other'" in str(found.why)


@pytest.mark.parametrize("role", ["worker", "watcher"])
def test_doctor_tells_a_host_that_its_key_is_another_ones(server: NatsServer, keys: Path, role: str) -> None:
    """It said that nothing is wrong, and each call that nobody hears us."""
    assert [one.what for one in check_servers(settings_of(server, keys, role, "g"), "host")] == [
        "the key is not one of a host"
    ]


@pytest.mark.parametrize("tools", [[act], []])
@pytest.mark.parametrize("role", ["host", "watcher"])
async def test_who_is_no_worker_does_not_serve(server: NatsServer, keys: Path, role: str, tools: list[Any]) -> None:
    """It said that it serves, below twenty lines that there is no link; and without a tool, for ever."""
    told: list[str] = []
    servers = settings_of(server, keys, role).link("worker", role="worker")
    with pytest.RaisesGroup(pytest.RaisesExc(PluginError, match="does not let us listen"), flatten_subgroups=True):
        async with open_host({}, []) as host, open_client(servers, tell=told.append) as client:
            for one in tools:
                host.add(one)
            await Worker(host, client, wire.Subjects("pb", "g"), concurrency=1, drain_s=1).run()
    assert len(told) == 1
    assert "is it the key of another role?" in told[0]


@pytest.mark.parametrize("role", ["worker", "watcher"])
async def test_who_is_no_host_does_not_serve_bots(server: NatsServer, keys: Path, role: str) -> None:
    servers = settings_of(server, keys, role).link("bots", role="host")
    with pytest.RaisesGroup(pytest.RaisesExc(PluginError, match="does not let us listen"), flatten_subgroups=True):
        async with open_host({}, []) as host, open_client(servers) as client:
            await Bots(host, client, "pb", concurrency=1, drain_s=1).run()


def test_doctor_tells_of_a_server_that_lets_everybody_in(nats_server: NatsServer, keys: Path) -> None:
    found = list(check_servers(settings_of(nats_server, keys, "host", "g"), "host"))
    assert [one.what for one in found] == ["NATS lets everybody in", "a worker may call"]
    assert all("pegboard nats init" in one.fix for one in found)


def test_doctor_tells_of_a_key_that_is_not_let_in(server: NatsServer, keys: Path, tmp_path: Path) -> None:
    from pegboard_nats.credentials import KeyPair

    (tmp_path / "host.nk").write_text(KeyPair.generate().seed)
    (found,) = check_servers(settings_of(server, tmp_path, "host", "g"), "host")
    assert found.what == "NATS cannot be reached"
    assert "uthorization" in found.why
    assert all(f"`{setting}`" in found.fix for setting in ("servers", "credentials", "tls_ca"))


@pytest.mark.parametrize(
    ("config", "role"),
    [
        ({}, None),
        ({"plugins": {"nats": {"alive_s": 2}}}, None),
        ({"plugins": {"nats": {"servers": ["nats://127.0.0.1:1"]}}}, "worker"),
        ({"core": {"limit_store": "nats"}}, "worker"),
        ({"plugins": {"nats": {"groups": {"g": {}}}}}, "host"),
        ({"tools": {"act": {"executor": "nats:g"}}}, "host"),
    ],
)
def test_doctor_looks_wherever_nats_is_used_and_nowhere_else(config: Any, role: str | None) -> None:
    """A tool that a group runs, or limits that are counted there, need the server as a group of tools does."""

    board = load_board(config, [pegboard_nats.plugin])
    board.add(act)
    (settings,) = [one.settings for one in board.plugins if one.name == "nats"]
    assert role_of(settings, board) == role
    (check,) = make_checks(settings)
    assert [one.what for one in check(board)] == ([] if role is None else ["NATS cannot be reached"])


async def test_hosts_alone_carry_requests_and_keep_tasks(server: NatsServer, keys: Path) -> None:
    pytest.importorskip("pegboard_mcp", reason="pegboard-mcp is not installed")
    from pegboard_mcp import TaskRecord
    from pegboard_nats.carrier import Carrier
    from pegboard_nats.link import open_link
    from pegboard_nats.tasks import NatsTasks

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": (await receive())["body"]})

    one, other = (settings_of(server, keys, "host") for _ in range(2))
    now = time.time()
    record = TaskRecord(id="a", owner="ada", status="working", created_s=now, updated_s=now, until_s=now + 60)
    async with open_link(one) as first, open_link(other) as second:
        await first.client.wait_connected()
        await second.client.wait_connected()
        async with Carrier(one).open("p", "m", app):
            await first.client.flush()
            for process in ("p", "gone"):
                answer = await Carrier(other).send(process, "m", "POST", "/mcp", [("a", "b")], b"x" * 3_000_000)
                assert (answer.status, await answer.piece()) == (200, b"x" * (1024 * 1024 - wire.HEADROOM))
                await answer.aclose()
        store = NatsTasks(one)
        assert await store.put(record)
        assert await NatsTasks(other).get("a") == record


def test_the_key_of_a_host_without_groups_is_not_taken_for_a_workers(server: NatsServer, keys: Path) -> None:
    assert list(check_servers(settings_of(server, keys, "host"), "worker")) == []


@pytest.mark.parametrize("required", [False, True])
def test_doctor_tells_of_a_group_without_a_worker(server: NatsServer, keys: Path, required: bool) -> None:
    """It said that nothing is wrong, of a group that the host must not open without too."""
    plugins = {
        "servers": [server.url],
        "credentials": str(keys / "host.nk"),
        "groups": {"empty": {"required": required}},
    }
    config = {"plugins": {"nats": plugins}, "tools": {"act": {"executor": "nats:away"}}}
    found = {one.where: one for one in findings(config)}
    assert {where: one.severity for where, one in found.items()} == {
        "group away": "warning",
        "group empty": "error" if required else "warning",
    }
    assert found["group away"].fix == "start one: pegboard worker --group away"


@pytest.mark.parametrize(
    "config", [{"core": {"limit_store": "nats"}}, {"plugins": {"nats": {"claims": True, "groups": {}}}}]
)
def test_doctor_tells_that_the_server_keeps_nothing(start_server: Any, config: Any) -> None:
    without = start_server("")
    given = config.get("plugins", {}).get("nats", {})
    (found,) = (
        one
        for one in findings({**config, "plugins": {"nats": {**given, "servers": [without.url]}}})
        if one.severity == "error"
    )
    assert (found.what, found.why) == ("the NATS server cannot keep what is to be kept", "it has no streams")
    assert "jetstream" in found.fix


def findings(config: Any) -> list[Finding]:
    board = load_board(config, [pegboard_nats.plugin])
    board.add(act)
    (settings,) = [one.settings for one in board.plugins if one.name == "nats"]
    (check,) = make_checks(settings)
    return list(check(board))


# -- configurations that an older `pegboard nats init` wrote


def before_groups(users: list[Any]) -> None:
    """Workers alone made the stream of records."""
    host = users[0]["permissions"]
    host["publish"].remove("$JS.API.STREAM.CREATE.pb-calls")


def first(users: list[Any]) -> None:
    """There were calls and limits: no records, no bots, no tasks, and a group could not be asked alone."""
    later = ("pb-calls", ".service.", "bot", ".llm", "pb-mcp", "pb-task")
    for one in users:
        for allowed in ("publish", "subscribe"):
            given = one["permissions"][allowed]
            given = given["allow"] if isinstance(given, dict) else given
            one["permissions"][allowed] = [subject for subject in given if not any(word in subject for word in later)]


async def test_a_configuration_from_before_groups_does_all_that_it_did(keys: Path, start_server: Any) -> None:
    server = start_server(config_of(keys, before_groups))
    await call_a_worker(server, keys, "worker", "g")
    given = {"servers": [server.url], "credentials": str(keys / "host.nk"), "claims": True, "groups": {"g": {}}}
    config = {"plugins": {"nats": given}, "core": {"limit_store": "nats"}}
    found = await trio.to_thread.run_sync(findings, config)
    assert [one.what for one in found] == ["a group has no worker"]


@pytest.mark.parametrize(
    ("config", "lacks"),
    [
        ({"core": {"limit_store": "nats"}}, ()),
        ({"plugins": {"nats": {"groups": {"g": {}}}}}, ("'pb.doctor.service.PING'",)),
        ({"plugins": {"nats": {"claims": True}}}, ("'$JS.API.DIRECT.GET.pb-calls.pb-calls.doctor.nothing'",)),
    ],
)
def test_doctor_tells_what_an_older_configuration_does_not_hold(
    keys: Path, start_server: Any, config: Any, lacks: tuple[str, ...]
) -> None:
    """It said that nothing is wrong, and hosts backed off from the group for ever."""
    server = start_server(config_of(keys, first))
    given = {"servers": [server.url], "credentials": str(keys / "host.nk")}
    given |= config.get("plugins", {}).get("nats", {})
    tools = {"tools": {"act": {"executor": "nats:g"}}} if "groups" not in given else {}
    told = findings({**config, **tools, "plugins": {"nats": given}})
    host = [one for one in told if one.what == "the key may not do all that is used"]
    assert [str(one.why).rpartition(" use ")[2] for one in host] == list(lacks)
    assert all("pegboard nats init" in one.fix for one in host)
    (worker,) = [one for one in told if one.what == "a worker may not do all that is used"]
    assert "'pb.doctor.service.PING'" in str(worker.why)


# -- groups that are kept from each other


@pytest.fixture(scope="module")
def group_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `pegboard nats init` wrote for two groups."""
    folder = tmp_path_factory.mktemp("groups")
    done = pegboard(folder, "nats", "init", "--group", "a", "--group", "b")
    assert done.returncode == 0, done.stderr
    return folder / "nats"


def config_of(keys: Path, change: Any = lambda users: None) -> str:
    """What was written, for a server on a free port with streams of its own."""
    accounts = json.loads((keys / "nats-server.conf").read_text().partition("accounts: ")[2])
    change(accounts["PEGBOARD"]["users"])
    store = json.dumps(str(keys / secrets.token_hex(4)))
    return f"accounts: {json.dumps(accounts)}\njetstream: {{ store_dir: {store} }}"


@pytest.fixture
def group_server(group_keys: Path, start_server: Any) -> NatsServer:
    started: NatsServer = start_server(config_of(group_keys))
    return started


def test_each_group_has_a_key_of_its_own(group_keys: Path) -> None:
    assert {path.name for path in group_keys.glob("*.nk")} == {"host.nk", "watcher.nk", "worker-a.nk", "worker-b.nk"}


async def test_workers_of_one_group_serve_with_its_key(group_server: NatsServer, group_keys: Path) -> None:
    """As workers of all groups do."""
    server, keys = group_server, group_keys
    await call_a_worker(server, keys, "worker-a", "a", of="a")
    for name, group in (("host", None), ("worker-b", "b")):
        with at_worker_of(group) if group else contextlib.nullcontext():
            store = NatsStore(settings_of(server, keys, name))
        assert await store.claim(f"key-{name}", 60) == 0
        assert await store.claim(f"key-{name}", 60) > 0
        await store.aclose()


@pytest.mark.parametrize("role", ["worker-a", "worker-b"])
async def test_a_worker_of_one_group_counts_before_any_host_has_counted(
    group_server: NatsServer, group_keys: Path, role: str
) -> None:
    """It refused all calls whose limits it counts: its key may not make the stream, and no host had made it."""
    group = role[-1]

    @tool(rate_limit="2/minute")
    async def limited() -> str:
        """Act, twice."""
        return "done"

    def config(key: str, **more: Any) -> dict[str, Any]:
        given = {"servers": [group_server.url], "credentials": str(group_keys / f"{key}.nk"), **more}
        return {"plugins": {"nats": given}}

    worker, plugins = {**config(role), "core": {"limit_store": "nats"}}, [pegboard_nats.plugin]
    servers = settings_of(group_server, group_keys, role).link("worker", role="worker", group=group)
    with at_worker_of(group):
        async with open_host(worker, plugins) as board, open_client(servers) as client, trio.open_nursery() as nursery:
            board.add(limited)
            await nursery.start(Worker(board, client, wire.Subjects("pb", group), concurrency=9, drain_s=9).run)
            async with open_host(config("host", groups={group: {}}), plugins) as host:
                with trio.fail_after(30):
                    while "limited" not in host.tools:
                        await host.wait_source_moved()
                results = [await host.session("ada").call("limited") for _ in range(3)]
            nursery.cancel_scope.cancel()
    assert [one.error and one.error.details["reason"] for one in results] == [None, None, "rate_limit"]


async def test_a_worker_that_may_not_make_the_stream_of_limits_says_who_does(
    group_server: NatsServer, group_keys: Path
) -> None:
    with at_worker_of("a"):
        store = NatsStore(settings_of(group_server, group_keys, "worker-a"))
    with pytest.raises(PluginError, match="stream not found") as caught:
        await store.claim("key", 60)
    await store.aclose()
    assert caught.value.hint == "a host makes it, when it finds this worker or counts"


async def test_the_first_call_of_a_host_that_has_no_link_yet_is_recorded(
    group_server: NatsServer, group_keys: Path
) -> None:
    """The worker was told to make the stream of records, which it may not."""
    servers = settings_of(group_server, group_keys, "worker-a").link("worker", role="worker", group="a")
    own = {"servers": [group_server.url], "credentials": str(group_keys / "host.nk"), "claims": True}
    config = {"plugins": {"nats": own}, "tools": {"act": {"executor": "nats:a"}}}
    async with open_host({}, []) as board, open_client(servers) as client, trio.open_nursery() as nursery:
        board.add(act)
        await nursery.start(Worker(board, client, wire.Subjects("pb", "a"), concurrency=9, drain_s=9).run)
        async with open_host(config, [pegboard_nats.plugin]) as host:
            host.add(act)
            with trio.fail_after(30):
                assert (await host.session().call("act")).text == "done"
        nursery.cancel_scope.cancel()


async def test_a_worker_of_one_group_hears_and_reads_nothing_of_another(
    group_server: NatsServer, group_keys: Path
) -> None:
    """One key heard the calls of all groups, and read what was recorded of them."""
    heard: list[str] = []
    heard_by_b: list[str] = []
    async with (
        open_client(settings_of(group_server, group_keys, "worker-a").link("a", role="worker", group="a")) as client,
        open_client(settings_of(group_server, group_keys, "worker-b").link("b", role="worker", group="b")) as other,
        open_client(settings_of(group_server, group_keys, "host").link("host", role="host")) as host,
    ):
        for one in (client, other, host):
            await one.wait_connected()
        records = Claims(other, wire.Subjects("pb", "b"))
        await Claims(host, wire.Subjects("pb", "b")).require_stream()
        told = {"tool": "act", "group": "b", "instance": "i", "digest": "d"}
        secret = ToolResult((TextContent("secret"),))
        await records.end("the-call", await records.take("the-call", told), told, secret)
        for subject in ("pb.b.call.>", "pb.*.call.>", "pb.>", ">", "_INBOX.>", "_INBOX.worker.b.>", "pb-calls.>"):
            client.subscribe(subject, lambda message: heard.append(message.subject))
        other.subscribe("pb.b.call.act", lambda message: heard_by_b.append(message.subject))
        await client.flush()
        await other.flush()
        read = "$JS.API.DIRECT.GET.pb-calls"
        asked = [
            f"{read}.pb-calls.b.the-call",
            read,
            "$JS.API.STREAM.MSG.GET.pb-calls",
            "$JS.API.CONSUMER.CREATE.pb-calls",
        ]
        asked += [
            f"$JS.API.STREAM.{do}.{name}" for do in ("CREATE", "UPDATE") for name in ("pb-limits", "pb-calls", "x")
        ]
        for subject in (*asked, "pb-calls.b.the-call", "pb.b.call.act", "pb.b.changed", "_INBOX.worker.b.1"):
            with pytest.raises(DeniedError):
                await client.request(subject, timeout_s=30)
        with client.replies() as mailbox:
            mailbox.asked = "patterns"
            for pattern in ("pb-calls.*.the-call", "pb-calls.>", ">"):  # our own client would not say them
                client._linked().send(f"PUB {read}.{pattern} {mailbox.subject} 0\r\n\r\n".encode())
            host.publish_nowait("pb.b.call.act")
            for one in (host, other, client):
                await one.flush()
            with pytest.raises((DeniedError, trio.WouldBlock)):
                mailbox.get_nowait()
        assert (heard, heard_by_b) == ([], ["pb.b.call.act"])
        assert (await records.look("the-call") or {})["state"] == "done"


def test_doctor_proves_that_groups_are_kept_from_each_other(group_server: NatsServer, group_keys: Path) -> None:
    assert [one.what for one in check_servers(settings_of(group_server, group_keys, "host"), "host")] == []
    assert list(check_servers(settings_of(group_server, group_keys, "worker-a"), "worker")) == []


@pytest.mark.parametrize(
    ("wider", "foreign"),
    [
        ("pb.b.call.>", "pb.b.call.>"),
        ("pb.*.call.>", "pb.doctor.call.>"),
        ("_INBOX.>", "_INBOX.worker.b.>"),
        ("$JS.API.DIRECT.GET.pb-calls.>", "$JS.API.DIRECT.GET.pb-calls.pb-calls.b.nothing"),
    ],
)
def test_doctor_tells_of_a_group_that_is_not_kept_from_another(
    group_keys: Path, start_server: Any, wider: str, foreign: str
) -> None:
    def widen(users: list[Any]) -> None:
        (allowed,) = [one["permissions"] for one in users if "pb.a.call.>" in one["permissions"]["subscribe"]]
        allowed["publish" if wider.startswith("$JS") else "subscribe"].append(wider)

    server = start_server(config_of(group_keys, widen))
    (found,) = check_servers(settings_of(server, group_keys, "host"), "host")
    assert (found.what, found.where) == ("a group is not kept from others", "group a")
    assert foreign in str(found.why)


# -- what an address says of who we are

SECRET = "s3cr3tPa55"


@pytest.mark.parametrize(
    "url",
    [
        "nats://ada:{secret}@127.0.0.1:{port}",
        "ada:{secret}@127.0.0.1:{port}",
        "nats://ada:{secret}x@127.0.0.1:{port}",
        "nats://{secret}@127.0.0.1:{port}",
        "tls://ada:{secret}@127.0.0.1:{port}",
        "nats://ada:{secret}@127.0.0.1:1",
        "nats://ada:{secret}@h.invalid:4222",
        "ada:{secret}@h:99999",
        "nats://ada:{secret}@h:99999",
        "nats://ada:x/{secret}@h",
        "nats://ada:{secret}/x@h",
        "nats://{secret}/x@h",
        "nats://ada:{secret}#@h",
        "nats://ada:{secret}@[::x]:1",
        "ws://ada:{secret}@h",
        "NATS+x://ada:{secret}@h",
        "nats://a:{secret}@h,nats://b:{secret}/@h",
        "nats://ada:{secret}\n@h:x",
    ],
)
def test_no_name_or_password_of_an_address_is_told_of(
    start_server: Any,
    url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """By errors, settings, logs, doctor, status and the list of sources; a bad address told its password in Python."""
    caplog.set_level(0)
    monkeypatch.setattr("pegboard_nats.checks.CONNECT_S", 0.5)  # most of them let nobody in
    server = start_server(f"authorization {{ user: ada, password: {SECRET} }}")
    given = url.format(secret=SECRET, port=server.port)
    settings = NatsSettings(servers=(given,), groups={"g": GroupSettings()})
    told = [repr(settings), repr(Servers(urls=(given,)))]
    try:
        told.append(repr(settings.addresses))
    except PluginError as problem:
        told += [str(problem), repr(problem), str(problem.hint)]
    else:
        told += [repr(one) for one in check_servers(settings, "host", groups={"g": False})]
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    config = tmp_path / "named.toml"
    config.write_text(f"[plugins.nats]\nservers = [{json.dumps(given)}]\n[plugins.nats.groups.g]\n")
    words = ["--config", str(config), "--plugin", "nats"]
    for command in (["--debug", "nats", "status"], ["list", "--sources"], ["config"]):
        Program().run([*words, *command])
    told += [*capsys.readouterr(), caplog.text]
    assert all(told[:2])
    assert [one for one in told if SECRET in one] == []
