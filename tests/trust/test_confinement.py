"""A server with `confine = true` gets nothing but what it was given: see `attacks/confinement` for the attacks."""

from __future__ import annotations

import ctypes
import fcntl
import getpass
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from attacking import FOLDER, cases
from escaping import WANTED

from pegboard import ConfigError, load_board, open_host
from pegboard.host import Host
from pegboard.testing import assert_ok
from pegboard_confine import relay, sandbox
from pegboard_confine.sandbox import why_not
from pegboard_mcp.checks import check_confinement
from pegboard_mcp.definitions import ServerSettings
from pegboard_mcp.lock.file import read_lock
from pegboard_mcp.settings import McpSettings

CASES = cases("confinement")
NAMES = [key.partition("/")[2] for key in CASES]
ON_OTHER_STAGES = {
    "changes_what_its_host_reads", "creates_what_its_host_would_read", "has_a_name_lead_home", "leaves_what_never_ends",
    "lives_on", "waits_for_a_file_to_be_replaced",
}  # fmt: skip
"""Those that have a test of their own below."""
UNBOUNDED = {"starts_processes": "the kernel counts no processes of root's"} if os.getuid() == 0 else {}
HONEST = ["a note", "1", "named"]
"""What a server gets that does what it may."""
SHARED = 0x70656762
"""The key of a memory that programs of the person share."""
SECRET = "a secret key of the person"
BOUNDS = {"max_memory_bytes": 1_000_000_000, "max_file_bytes": 10_000_000, "max_processes": 64}
pytestmark = [
    pytest.mark.measured,
    pytest.mark.skipif(bool(why_not()), reason=f"nothing can be confined here: {why_not()}"),
]


class Answers(http.server.BaseHTTPRequestHandler):
    """A host that was named, and that leads elsewhere."""

    elsewhere = ""

    def do_GET(self) -> None:
        leads = self.path.endswith("redirect")
        self.send_response(302 if leads else 200)
        if leads:
            self.send_header("Location", self.elsewhere)
        self.end_headers()
        self.wfile.write(b"named")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A home with keys, folders that are given, hosts that are named and not, and sockets of others."""
    root = tmp_path_factory.mktemp("confined")
    for name in ("home/.ssh", "read", "write"):
        (root / name).mkdir(parents=True)
    (root / "home/.ssh/id_ed25519").write_text(SECRET)
    (root / "read/note.txt").write_text("a note")
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) for _ in range(2)]
    threads = [threading.Thread(target=server.serve_forever, args=(0.05,)) for server in servers]
    for thread in threads:
        thread.start()
    named, unnamed = (f"http://localhost:{server.server_port}/" for server in servers)
    Answers.elsewhere = unnamed
    paths = [str(root / "others.sock"), f"\0pegboard-{os.getpid()}"]
    sockets = [socket.socket(socket.AF_UNIX) for _ in paths]
    for one, path in zip(sockets, paths, strict=True):
        one.bind(path)
        one.listen()
    libc = ctypes.CDLL(None)
    shared = libc.shmget(SHARED, 100, 0o1600)
    assert shared != -1
    yield {
        "secret": str(root / "home/.ssh/id_ed25519"), "home": str(root / "home"), "read": str(root / "read"),
        "write": str(root / "write"), "variable": "TOKEN_OF_THE_HOST", "named": named, "unnamed": unnamed,
        "bounds": BOUNDS, "socket": paths[0], "abstract": paths[1][1:], "shared": SHARED, "pid": os.getpid(),
        "user": getpass.getuser(),
    }  # fmt: skip
    for server in servers:
        server.shutdown()
        server.server_close()
    for thread in threads:
        thread.join()
    for one in sockets:
        one.close()
    libc.shmctl(shared, 0, None)


def port_of(stage: dict[str, Any]) -> str:
    """That of the host which is named."""
    return str(stage["named"].rstrip("/").rpartition(":")[2])


def table_of(stage: dict[str, Any], name: str = "reads_keys", **more: Any) -> dict[str, Any]:
    """A configuration with the server of one attack."""
    server = ["-SB", str(FOLDER / "attacking.py"), f"confinement/{name}.py"]
    read = [stage["read"], str(FOLDER)]
    given = {"read": read, "write": [stage["write"]], "network": [f"localhost:{port_of(stage)}"], **BOUNDS}
    table = {"command": sys.executable, "args": server, "confine": True, **given, **more}
    return {"plugins": {"mcp": {"servers": {"attacker": table}, "lock": "off", "remember": False}}}


async def attack(host: Host, stage: dict[str, Any], *, by: str = "get_out") -> dict[str, Any]:
    """What a server got: `got`, or why it was `held`, and what it `may`."""
    found: dict[str, Any] = json.loads(assert_ok(await host.session().call(by, {"stage": stage}, timeout_s=60)).text)
    return found


def table_servers(stage: dict[str, Any], **more: Any) -> dict[str, ServerSettings]:
    """The servers of that table, as settings."""
    (table,) = table_of(stage, **more)["plugins"]["mcp"]["servers"].values()
    return {
        "attacker": ServerSettings(
            **{**table, **{key: tuple(table[key]) for key in ("args", "read", "write", "network")}}
        )
    }


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TOKEN_OF_THE_HOST", SECRET)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))


@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ON_OTHER_STAGES])
async def test_no_attack_gets_out_of_the_sandbox(
    stage: dict[str, Any], caplog: pytest.LogCaptureFixture, tmp_path: Path, name: str
) -> None:
    if name in UNBOUNDED:
        pytest.skip(UNBOUNDED[name])
    seen = CASES[f"confinement/{name}"].seen
    async with open_host(table_of(stage, name), plugins=["mcp"]) as host:
        found = await attack(host, stage)
    assert found["got"] == ""
    assert SECRET not in json.dumps(found)
    assert found["may"] == HONEST
    assert [one.parent.name[:9] for one in tmp_path.glob("data/**/begun")] == ["attacker-"]
    told = [record.getMessage() for record in caplog.records if WANTED in record.getMessage()]
    assert told == [words.format(port=port_of(stage)) for words in seen.told]


@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("key", ["read", "write", "args"])
async def test_what_another_server_made_a_link_of_is_not_given(stage: dict[str, Any], tmp_path: Path, key: str) -> None:
    """Attack: one server makes a link to the keys of the person out of the folder of another, or out of a file that the
    command of another names, which hands them out."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "docs").symlink_to(stage["home"])
    (project / "settings.json").symlink_to(stage["secret"])
    words = ["-SB", str(FOLDER / "attacking.py"), "confinement/reads_keys.py", str(project / "settings.json")]
    config = table_of(stage, **{key: words if key == "args" else [str(project / "docs"), str(FOLDER)]})
    (other,) = table_of(stage, "reads_through_a_link")["plugins"]["mcp"]["servers"].values()
    config["plugins"]["mcp"]["servers"]["other"] = {**other, "write": [str(project)], "prefix": "other_"}
    async with open_host(config, plugins=["mcp"]) as host:
        result = await host.session().call("get_out", {"stage": stage}, timeout_s=30)
        others = await attack(host, {**stage, "write": str(project)}, by="other_get_out")
    assert "is a link out of a folder that another server may write; it was not started" in str(result.error)
    assert (others["got"], others["held"][:17]) == ("", "FileNotFoundError")


async def test_a_folder_that_is_led_elsewhere_while_a_sandbox_is_made_is_not_given(tmp_path: Path) -> None:
    """Attack: what a server is given is looked at, and another that may write there makes a link before it is
    mounted."""
    (tmp_path / "w" / "a b").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    given, written = (str(tmp_path / "w" / "a b"),), (str(tmp_path / "w"),)
    policy = sandbox.Policy(home=str(tmp_path / "own" / "home"), cwd="/tmp", write=given, written=written)
    for swaps in (False, True):
        box = await sandbox.prepare(policy, ["/bin/true"])
        if swaps:
            (tmp_path / "w" / "a b").rename(tmp_path / "w" / "aside")
            (tmp_path / "w" / "a b").symlink_to(tmp_path / "secret")
        process = await trio.lowlevel.open_process(box.words, env=box.environment, pass_fds=box.descriptors)
        try:
            if swaps:
                with pytest.raises(sandbox.ConfineError, match="was led elsewhere while it was started"):
                    await box.admit(process)
            else:
                await box.admit(process)
                assert await process.wait() == 0
        finally:
            process.kill()
            await process.wait()
            box.close()


@pytest.mark.usefixtures("own_home")
async def test_a_server_changes_nothing_that_its_host_reads(
    stage: dict[str, Any], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project = tmp_path / "project"
    (project / "inner").mkdir(parents=True)
    (tmp_path / "data" / "pegboard").mkdir(parents=True)
    kept = [project / "inner" / name for name in ("pegboard.toml", "accepted.lock", "signers", "env")]
    kept.append(tmp_path / "data" / "pegboard" / "what Pegboard keeps")
    outside = tmp_path_factory.mktemp("outside") / "env"
    outside.symlink_to(kept[3])  # as files of settings are that lie in a repository
    table = table_of(stage, "changes_what_its_host_reads", write=[str(tmp_path)], env_file=str(outside))
    lines = [f"{key} = {json.dumps(value)}" for key, value in table["plugins"]["mcp"]["servers"]["attacker"].items()]
    named = f"lock = 'off'\nremember = false\nlock_file = '{kept[1]}'\nlock_signers = '{kept[2]}'\n"
    kept[0].write_text(f"[plugins.mcp]\n{named}[plugins.mcp.servers.attacker]\n" + "\n".join(lines))
    for file in kept[1:]:
        file.touch()
    async with open_host(kept[0], plugins=["mcp"]) as host:
        found = await attack(host, {**stage, "write": str(tmp_path), "kept": [*map(str, kept)]})
    assert found == {"got": "", "held": "", "may": HONEST}
    assert kept[0].read_text().startswith("[plugins.mcp]")


@pytest.mark.usefixtures("own_home")
async def test_a_server_creates_nothing_that_its_host_would_read(
    stage: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    absent = [str(tmp_path / name) for name in ("accepted.lock", "below/signers")]
    own = [str(tmp_path / kind / "pegboard" / "config.toml") for kind in ("config", "state", "cache", "data")]
    table = table_of(stage, "creates_what_its_host_would_read", write=[str(tmp_path)])
    table["plugins"]["mcp"] |= {"lock_file": absent[0], "lock_signers": absent[1]}
    for _ in range(2):  # they are there the second time
        async with open_host(table, plugins=["mcp"]) as host:
            found = await attack(host, {**stage, "write": str(tmp_path), "absent": [*absent, *own]})
        assert found == {"got": "", "held": "", "may": HONEST}
    assert not any(Path(one).exists() for one in own)
    assert read_lock(Path(absent[0])) == {}
    assert Path(absent[1]).read_bytes() == b""


LEADS = {
    "one.rebind.example": "127.0.0.1", "two.rebind.example": "::1", "three.rebind.example": "::ffff:127.0.0.1",
    "four.rebind.example": "169.254.169.254", "five.rebind.example": "0.0.0.0", "six.rebind.example": "10.0.0.1",
    "seven.rebind.example": "100.100.100.200", "eight.rebind.example": "fd00:ec2::254",
}  # fmt: skip


@pytest.mark.usefixtures("own_home")
async def test_a_name_that_leads_home_is_not_followed(
    stage: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    look_up = relay.look_up

    async def lead(host: str, port: int, limiter: trio.CapacityLimiter) -> list[Any]:
        if host not in LEADS:
            return await look_up(host, port, limiter)
        return socket.getaddrinfo(LEADS[host], port, type=socket.SOCK_STREAM)

    monkeypatch.setattr(relay, "look_up", lead)
    port = stage["unnamed"].rstrip("/").rpartition(":")[2]
    network = [f"localhost:{port_of(stage)}", f"*.rebind.example:{port}"]
    async with open_host(table_of(stage, "has_a_name_lead_home", network=network), plugins=["mcp"]) as host:
        assert await attack(host, {**stage, "leads": [*LEADS]}) == {"got": "", "held": "", "may": HONEST}
    told = [record.getMessage() for record in caplog.records if WANTED in record.getMessage()]
    assert [name for name in LEADS if not any(f"{name}:{port}: it leads to " in line for line in told)] == []


@pytest.mark.usefixtures("own_home")
async def test_what_a_server_left_where_its_host_looks_keeps_nobody_waiting(
    stage: dict[str, Any], tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    looked_at = [project / "attacking.py", project / "settings.json"]
    config = table_of(stage, "leaves_what_never_ends", write=[str(project)])
    (table,) = config["plugins"]["mcp"]["servers"].values()
    looked_at[0].write_text(
        (FOLDER / "attacking.py").read_text().replace("Path(__file__).parent", f"Path({str(FOLDER)!r})")
    )
    looked_at[1].write_text("{}")
    table["args"] = ["-SB", str(looked_at[0]), "confinement/leaves_what_never_ends.py", str(looked_at[1])]
    table["env"] = {"PYTHONPATH": str(FOLDER)}
    del config["plugins"]["mcp"]["lock"], config["plugins"]["mcp"]["remember"]
    given = {**stage, "write": str(project), "looked_at": [*map(str, looked_at)]}
    with trio.fail_after(60):
        async with open_host(config, plugins=["mcp"]) as host:
            assert await attack(host, given) == {"got": "", "held": "", "may": HONEST}
        table["timeout"] = 1  # no script in a pipe ever begins
        async with open_host(config, plugins=["mcp"]) as host:
            result = await host.session().call("get_out", {"stage": given}, timeout_s=30)
    assert result.error is not None


@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("how", ["replaced", "removed"])
async def test_a_server_is_ended_where_what_its_host_reads_is_replaced(
    stage: dict[str, Any], tmp_path: Path, how: str
) -> None:
    config, told = tmp_path / "pegboard.toml", []
    (table,) = table_of(stage, "waits_for_a_file_to_be_replaced", write=[str(tmp_path)])["plugins"]["mcp"][
        "servers"
    ].values()
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    config.write_text("[plugins.mcp]\nlock = 'off'\n[plugins.mcp.servers.attacker]\n" + "\n".join(lines))
    (tmp_path / "another.toml").write_text(config.read_text())
    os.mkfifo(tmp_path / "waits")
    waits = {"stage": {**stage, "write": str(tmp_path), "kept": [str(config)]}}
    async with open_host(config, plugins=["mcp"]) as host, trio.open_nursery() as nursery:

        async def call() -> None:
            told.append(await host.session().call("get_out", waits, timeout_s=50))

        nursery.start_soon(call)
        await trio.to_thread.run_sync((tmp_path / "waits").read_text, abandon_on_cancel=True)
        if how == "replaced":
            (tmp_path / "another.toml").rename(config)
        else:
            config.unlink()
    assert f"it was ended, for {config}, which this host reads, was replaced" in str(told[0].error)


@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("linked", ["pegboard.toml", "inner", "on the way"])
async def test_a_link_that_the_host_reads_lies_in_no_folder_that_a_server_may_write(
    stage: dict[str, Any], tmp_path: Path, linked: str
) -> None:
    """It could be led elsewhere, whatever stands over the file that it leads to now; so could one on the way."""
    (tmp_path / "project").mkdir()
    (tmp_path / "real" / "inner").mkdir(parents=True)
    table = table_of(stage, write=[str(tmp_path / "project")])["plugins"]["mcp"]["servers"]["attacker"]
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    for name in ("pegboard.toml", "inner/pegboard.toml", "on the way"):
        (tmp_path / "real" / name).write_text("[plugins.mcp.servers.attacker]\n" + "\n".join(lines))
    (tmp_path / "project" / linked).symlink_to(tmp_path / "real" / linked)
    (tmp_path / "outside.toml").symlink_to(tmp_path / "project" / "on the way")
    paths = {"pegboard.toml": "project/pegboard.toml", "inner": "project/inner/pegboard.toml"}
    config = tmp_path / paths.get(linked, "outside.toml")
    async with open_host(config, plugins=["mcp"]) as host:
        result = await host.session().call("get_out", {"stage": stage}, timeout_s=30)
    assert "is behind a link in a folder that it may write; it was not started" in str(result.error)


@pytest.mark.usefixtures("own_home")
async def test_an_older_bubblewrap_lets_nobody_make_namespaces_either(
    stage: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That before 0.8, as in Ubuntu 22.04, has no --disable-userns."""
    why_not()
    assert sandbox._probed is not None
    (program, *_), _ = sandbox._probed
    monkeypatch.setattr(sandbox, "_probed", ((program, "--unshare-user"), ""))
    async with open_host(table_of(stage, "makes_namespaces"), plugins=["mcp"]) as host:
        assert await attack(host, stage) == {"got": "", "held": "", "may": HONEST}


@pytest.mark.usefixtures("own_home")
async def test_a_folder_that_a_server_made_a_link_of_is_not_given(stage: dict[str, Any]) -> None:
    trap = Path(stage["write"], "sub")
    trap.symlink_to(Path(stage["home"]))
    try:
        async with open_host(table_of(stage, write=[stage["write"], str(trap)]), plugins=["mcp"]) as host:
            result = await host.session().call("get_out", {"stage": stage}, timeout_s=30)
    finally:
        trap.unlink()
    why = str(result.error or result.text)
    assert "is a link out of a folder that it may write" in why or "NOT_FOUND" in why


@pytest.mark.usefixtures("own_home")
async def test_where_nothing_can_be_confined_it_is_said_and_nothing_is_started(
    stage: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_probed", ((), "bubblewrap is not installed"))
    async with open_host(table_of(stage, required=False, start="eager"), plugins=["mcp"]) as host:
        await host.wait_for_sources(timeout_s=10)
        (state, reason) = host.board.source_states["attacker"]
    assert state.value == "failed"
    assert reason is not None
    assert "this system cannot confine it: bubblewrap is not installed; it was not started" in reason
    assert "confine = false" in reason


PARTS = [
    *(("read", path) for path in ("/", "//", "/proc", "/proc/1", "/dev", "/sys", "/usr/..", "/proc/../")),
    *(("write", path) for path in ("/", "/usr", "/bin", "/etc", "/lib", "/boot", "/run", "/etc/../etc")),
]


@pytest.mark.parametrize(("key", "path"), PARTS, ids=lambda one: str(one))
def test_no_part_of_the_system_is_given(key: str, path: str, stage: dict[str, Any]) -> None:
    """With the host's /proc it would read the files of every process; who writes into /usr writes what all run."""
    with pytest.raises(ConfigError, match=rf"{key}\[0\]: expected a folder or a file that it is to work with"):
        load_board(table_of(stage, **{key: [path]}), plugins=["mcp"])


@pytest.mark.parametrize("key", ["read", "write"])
def test_a_link_that_came_into_a_project_gives_nothing_beside_it(
    key: str, stage: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack: a later commit makes a link of a folder that a trusted configuration gives (CVE-2024-32002 of git)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real").mkdir()
    (tmp_path / "inside").symlink_to("real")
    load_board(table_of(stage, **{key: ["inside", "./real", "real/../inside", stage["home"]]}), plugins=["mcp"])
    (tmp_path / "docs").symlink_to(stage["home"])
    for path in ("docs", "./docs", "docs/.ssh", "real/../docs"):
        with pytest.raises(ConfigError, match=rf"{key}\[0\]: expected what lies in this folder, got a link out of it"):
            load_board(table_of(stage, **{key: [path]}), plugins=["mcp"])


def test_a_home_that_is_given_is_told(stage: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """`read = ["~"]` is what people write first."""
    monkeypatch.setenv("HOME", stage["home"])
    settings = McpSettings(servers=table_servers(stage, read=["~"]))
    told = [one for one in check_confinement(settings) if one.what == "a confined server reads credentials"]
    assert [(one.where, one.severity) for one in told] == [("attacker", "warning")]
    assert stage["home"] in told[0].why


@pytest.mark.usefixtures("own_home")
async def test_a_sandbox_without_a_filter_is_told_at_the_start_and_by_doctor(
    stage: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    table = table_of(stage)
    async with open_host(table, plugins=["mcp"]) as host:
        assert (await attack(host, stage))["may"] == HONEST
    assert "it is confined without a filter of system calls" in caplog.text
    told = [one.what for one in check_confinement(McpSettings(servers=table_servers(stage)))]
    assert "confined servers may make every system call" in told


@pytest.mark.parametrize("words", [["call", "t"], ["doctor"], ["probe", "one"], ["confine", "suggest", "one"]])
def test_where_the_kernel_refuses_it_the_advice_is_not_to_install_what_is_there(
    tmp_path: Path, words: list[str]
) -> None:
    """Ubuntu 24.04 lets nobody make user namespaces, and bubblewrap is installed there."""
    server = {"command": "true", "confine": True}
    (tmp_path / "c.yaml").write_text(json.dumps({"plugins": {"mcp": {"servers": {"one": server}}}}))
    hidden = "import pegboard_confine.bubblewrap as b; b.NAMESPACES = ('--no-such-option',)"
    start = f"{hidden}; from pegboard_program import main; main()"
    command = [sys.executable, "-c", start, "--config", str(tmp_path / "c.yaml"), "--plugin", "mcp", *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    told = ran.stdout + ran.stderr
    assert ran.returncode != 0
    assert "the kernel or the container refuses it" in told
    assert "install bubblewrap" not in told.lower()
    assert words[0] == "call" or "let user namespaces be made here" in told.lower()


HOST = """
import sys, trio
from pegboard import ConfigError, load_board, open_host
async def main():
    async with open_host({config}, plugins=["mcp"]) as host:
        print((await host.session().call("get_out", {{"stage": {stage}}}, timeout_s=60)).text, flush=True)
        await trio.sleep_forever()
trio.run(main)
"""


@pytest.mark.usefixtures("own_home")
async def test_nothing_survives_a_host_that_is_killed(stage: dict[str, Any]) -> None:
    code = HOST.format(config=repr(table_of(stage, "lives_on")), stage=repr(stage))
    host = await trio.lowlevel.open_process([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert host.stdout is not None
    async with host.stdout:
        assert json.loads(await host.stdout.receive_some()) == {"got": "", "held": "", "may": HONEST}
        host.send_signal(signal.SIGKILL)
        await host.wait()
    with Path(stage["write"], "lock").open() as lock, trio.fail_after(20):
        await trio.to_thread.run_sync(fcntl.flock, lock, fcntl.LOCK_EX, abandon_on_cancel=True)


@pytest.mark.usefixtures("own_home")
def test_the_smallest_policy_is_proposed_and_no_credential_in_it(stage: dict[str, Any], tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    config = tmp_path / "pegboard.toml"
    (table,) = table_of(stage, "asks_for_more_than_it_needs", read=[str(FOLDER)])["plugins"]["mcp"]["servers"].values()
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    config.write_text("[plugins.mcp.servers.attacker]\n" + "\n".join(lines))
    call = f"get_out={json.dumps({'stage': stage})}"
    words = ["--config", str(config), "confine", "suggest", "attacker", "--for", "0", "--call", call]
    ran = subprocess.run([sys.executable, "-m", "pegboard", *words], capture_output=True, text=True, check=False)
    found = tomllib.loads(ran.stdout)["plugins"]["mcp"]["servers"]["attacker"]
    assert found["confine"] is True
    assert found["write"] == [stage["write"], stage["read"] + "/note.txt"]
    assert not any(path in (stage["home"], stage["secret"]) for path in (*found["read"], *found["write"]))
    assert set(table["network"]) <= set(found["network"])
    assert f"not proposed, for it looks like a credential or a startup file: {stage['secret']}" in ran.stderr
    assert "it also wanted to connect to" in ran.stderr


@pytest.mark.usefixtures("own_home")
def test_a_person_reads_what_a_flood_of_names_came_to(tmp_path: Path) -> None:
    """Attack: a server looks for thousands of keys, and what else it lacks stands somewhere among them."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    code = "import pathlib\nfor n in range(3000):\n  (pathlib.Path.home() / f'.ssh/{n}').exists()\nopen('/var/x', 'w')"
    config = tmp_path / "pegboard.toml"
    server = f"command = {json.dumps(sys.executable)}\nargs = ['-c', {json.dumps(code)}]\nconfine = true\n"
    config.write_text(f"[plugins.mcp.servers.many]\n{server}")
    words = ["--config", str(config), "confine", "suggest", "many", "--for", "0"]
    ran = subprocess.run([sys.executable, "-m", "pegboard", *words], capture_output=True, text=True, check=False)
    assert "a credential or a startup file: 2,980 more" in ran.stderr
    assert "not proposed, for it holds far more than one server is for: /var\n" in ran.stderr
    assert len(ran.stderr.splitlines()) < 30
    assert "/var" not in ran.stdout


def test_who_asks_what_a_server_lacks_is_not_sent_to_ask_that(tmp_path: Path) -> None:
    config = tmp_path / "pegboard.toml"
    server = f"command = {json.dumps(sys.executable)}\nargs = ['-c', 'raise SystemExit(3)']\nconfine = true\n"
    config.write_text(f"[plugins.mcp.servers.gone]\n{server}")
    words = ["--config", str(config), "confine", "suggest", "gone", "--for", "0"]
    ran = subprocess.run([sys.executable, "-m", "pegboard", *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "add what is proposed to its table, then run this again" in ran.stderr
    assert "confine suggest" not in ran.stderr


TELLS = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("tells")
@server.tool()
def tell(about: int) -> str:
    "Tell."
    raise ValueError("the disk is full")
server.run()
"""


@pytest.mark.usefixtures("own_home")
def test_a_call_that_does_not_work_is_told_in_the_words_of_the_server(tmp_path: Path) -> None:
    config = tmp_path / "pegboard.toml"
    server = f"command = {json.dumps(sys.executable)}\nargs = ['-c', {json.dumps(TELLS)}]\nconfine = true\n"
    config.write_text(f"[plugins.mcp.servers.tells]\n{server}")
    calls = ["--call", "tel", "--call", 'tell={"about": 1}']
    words = ["--config", str(config), "confine", "suggest", "tells", "--for", "0", *calls]
    ran = subprocess.run([sys.executable, "-m", "pegboard", *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    unknown, failed = (line for line in ran.stderr.splitlines() if line.startswith("--call "))
    assert unknown.startswith("--call tel failed: ")
    assert "tel" in unknown.partition(": ")[2]
    assert failed.startswith("--call tell failed: ")
    assert "tell" in failed.partition(": ")[2]


@pytest.mark.parametrize("words", [["confine", "suggest", "far"], ["probe", "far"]], ids=lambda one: one[0])
def test_a_system_that_confines_nothing_is_told_with_what_to_install(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "c.yaml").write_text(json.dumps({"plugins": {"mcp": {"servers": {"far": {"command": "true"}}}}}))
    hidden = "import pegboard_confine.bubblewrap as b; b.SEARCH = ()"
    start = f"{hidden}; from pegboard_program import main; main()"
    command = [sys.executable, "-c", start, "--config", str(tmp_path / "c.yaml"), "--plugin", "mcp", *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "this system cannot confine a server: bubblewrap is not installed" in ran.stderr
    assert "install bubblewrap (Debian: apt-get install bubblewrap)" in ran.stderr
