"""What functions of the standard library, and a few others, do to the world: tables for `_bodies` and `_reach`."""

from __future__ import annotations

RUNS = {
    "builtins.eval": "it evaluates text as code",
    "builtins.exec": "it runs text as code",
    "builtins.__import__": "it imports what its caller names",
    "importlib.import_module": "it imports what its caller names",
    "importlib.__import__": "it imports what its caller names",
    "importlib.util.spec_from_file_location": "it imports what its caller names",
    "runpy.run_path": "it runs a program",
    "runpy.run_module": "it runs a program",
    "os.system": "it runs a shell",
    "os.popen": "it runs a shell",
    "pty.spawn": "it runs a program",
    "ctypes.CDLL": "it loads machine code",
    "shelve.open": "it unpickles",
    "joblib.load": "it unpickles",
    "yaml.load": "it may build any object from YAML",
    "yaml.unsafe_load": "it builds any object from YAML",
    "yaml.full_load": "it may build any object from YAML",
    "yaml.load_all": "it may build any object from YAML",
}
"""What runs its first argument. `compile` is not here: what it gives runs nothing until `eval` or `exec` gets it."""
RUNS_MODULES = {
    "subprocess.": "it runs a program",
    "asyncio.create_subprocess": "it runs a program",
    "os.exec": "it runs a program",
    "os.spawn": "it runs a program",
    "os.posix_spawn": "it runs a program",
    "pickle.load": "it unpickles, which runs code",
    "pickle.Unpickler": "it unpickles, which runs code",
    "marshal.load": "it loads code",
    "dill.load": "it unpickles, which runs code",
    "cloudpickle.load": "it unpickles, which runs code",
}
RUNS_NOTHING = frozenset({
    "subprocess.list2cmdline", "subprocess.CompletedProcess", "subprocess.TimeoutExpired", "subprocess.PIPE",
    "subprocess.STDOUT", "subprocess.DEVNULL",
})  # fmt: skip
RUNS_ALL = ("os.exec", "os.spawn", "os.posix_spawn", "importlib.util.spec", "asyncio.create_subprocess_exec")
"""What runs, or names what it runs by, more than its first argument, by how its name begins."""
RUNS_KEYWORDS = frozenset({"args", "executable", "preexec_fn"})
"""Keywords of what starts programs that say what is run."""
WRITES_MODULES = {
    "shutil.": "changes files",
    "socket.": "speaks to the network",
    "urllib.request.": "speaks to the network",
    "http.client.": "speaks to the network",
    "smtplib.": "speaks to the network",
    "ftplib.": "speaks to the network",
    "imaplib.": "speaks to the network",
    "poplib.": "speaks to the network",
    "xmlrpc.client.": "speaks to the network",
    "asyncio.open_": "speaks to the network",
    "requests.": "speaks to the network",
    "httpx.": "speaks to the network",
    "httpx2.": "speaks to the network",
    "aiohttp.": "speaks to the network",
    "urllib3.": "speaks to the network",
    "boto3.": "speaks to the network",
    "paramiko.": "speaks to the network",
    "redis.": "uses a database",
    "pymongo.": "uses a database",
    "psycopg.": "uses a database",
    "psycopg2.": "uses a database",
    "sqlite3.": "uses a database",
    "sqlalchemy.": "uses a database",
    "dbm.": "uses a database",
    "shelve.": "uses a database",
    "tempfile.": "makes files",
    "webbrowser.": "opens a browser",
    "signal.": "changes the process",
    "multiprocessing.": "starts processes",
    "os.system": "runs a shell",
    "os.popen": "runs a shell",
    "subprocess.": "runs a program",
    "os.exec": "runs a program",
    "os.spawn": "runs a program",
    "os.posix_spawn": "runs a program",
}
"""By how the name of what is called begins. Only what changes for sure says "changes"."""
_FILE_CHANGES = (
    "remove", "unlink", "rename", "renames", "replace", "mkdir", "makedirs", "rmdir", "removedirs", "chmod", "chown",
    "link", "symlink", "truncate", "utime", "mkfifo", "mknod", "write",
)  # fmt: skip
_PROCESS_CHANGES = (
    "os.putenv", "os.unsetenv", "os.chdir", "os.kill", "os.killpg", "os.umask", "os.nice", "sys.setrecursionlimit",
    "random.seed", "locale.setlocale", "logging.basicConfig", "logging.disable", "warnings.simplefilter",
    "warnings.filterwarnings", "atexit.register", "decimal.setcontext",
)  # fmt: skip
_HARMLESS = (
    "shutil.which", "shutil.get_terminal_size", "shutil.disk_usage", "socket.gethostname", "socket.inet_aton",
    "socket.inet_pton", "socket.inet_ntoa", "socket.inet_ntop", "socket.ntohl", "socket.htonl", "socket.ntohs",
    "socket.htons", "tempfile.gettempdir", "urllib.request.pathname2url", "urllib.request.url2pathname",
    "multiprocessing.cpu_count", "signal.strsignal", *RUNS_NOTHING,
)  # fmt: skip
WRITES = {
    **{f"os.{name}": "changes files" for name in _FILE_CHANGES},
    **dict.fromkeys(_PROCESS_CHANGES, "changes the process"),
    "sys.exit": "ends the process",
    "os._exit": "ends the process",
    "builtins.exit": "ends the process",
    "builtins.quit": "ends the process",
    "builtins.input": "reads from the terminal",
    **dict.fromkeys(_HARMLESS, ""),
}
"""By the whole name; empty: nothing, though the module is one of the above."""
WRITES_METHODS = dict.fromkeys(
    (
        "write_text", "write_bytes", "unlink", "touch", "mkdir", "rmdir", "symlink_to", "hardlink_to", "extractall",
    ),
    "changes files",
)  # fmt: skip
OPENERS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "builtins": ("open",),
        "io": ("open", "FileIO"),
        "os": ("open", "fdopen"),
        "codecs": ("open",),
        "gzip": ("open", "GzipFile"),
        "bz2": ("open", "BZ2File"),
        "lzma": ("open", "LZMAFile"),
        "tarfile": ("open", "TarFile"),
        "zipfile": ("ZipFile", "PyZipFile"),
    }.items()
    for name in names
)
"""What takes a file and then a mode."""
CHANGES = frozenset((
    "append", "appendleft", "extend", "insert", "add", "update", "pop", "popitem", "clear", "remove", "discard",
    "setdefault", "register", "sort", "reverse",
))  # fmt: skip
"""Methods that change the container they are called on."""
OPENS = (
    *("builtins.open", "io.open", "os.open", "os.listdir", "os.scandir", "os.walk", "shutil.", "pathlib.Path"),
    *(
        f"os.{name}"
        for name in ("remove", "unlink", "rename", "replace", "mkdir", "makedirs", "rmdir", "chmod", "stat")
    ),
)
"""What takes a path first, by how its name begins."""
JUDGES = frozenset({"isinstance", "hasattr", "getattr", "type", "callable", "issubclass"})
WALKERS = frozenset((
    "iter", "list", "tuple", "set", "frozenset", "sorted", "reversed", "enumerate", "sum", "any", "all",
))  # fmt: skip
"""Builtins that walk through their first argument."""
CACHES = ("cache", "memo")
WRITE_VERBS = frozenset((
    "write", "save", "delete", "remove", "send", "set", "put", "post", "patch", "update", "insert", "add", "append",
    "create", "make", "mkdir", "copy", "move", "rename", "store", "upload", "push", "publish", "install", "uninstall",
    "enable", "disable", "activate", "deactivate", "register", "unregister", "start", "stop", "kill", "close", "open",
    "reset", "clear", "drop", "purge", "configure", "init", "initialize", "setup", "teardown", "load_into",
    "execute", "executemany", "executescript", "launch", "spawn", "shutdown", "connect", "edit", "prompt", "confirm",
    "pause", "echo", "print", "secho", "disconnect", "lock", "unlock", "mount", "unmount", "chmod", "chown", "touch",
    "truncate", "flush", "commit", "rollback", "seed", "dump", "writelines", "submit", "request", "notify", "deploy",
))  # fmt: skip
"""First words of names that promise a change."""
LOCAL_METHODS = CHANGES | frozenset(("close", "copy", "open", "flush", "lock", "format", "print", "start", "touch"))
"""Methods that change no more than the object at hand, as far as a name can say; `match.start()` does not even that."""
NAMED_TUPLE = frozenset({"_make", "_replace", "_asdict"})
"""Methods of every named tuple; each gives a new value."""
READ_VERBS = frozenset((
    "get", "is", "has", "are", "can", "parse", "format", "compute", "calculate", "count", "find", "search", "match",
    "compare", "convert", "decode", "encode", "to", "from", "read", "list", "show", "describe", "check", "validate",
    "normalize", "natural", "distance", "similarity", "split", "join", "strip", "quote", "unquote", "escape", "hash",
    "loads", "dumps", "len", "length", "size", "iter", "min", "max", "sum", "mean", "sort", "sorted", "filter",
))  # fmt: skip


def runs_what_it_gets(path: str) -> str | None:
    """Why a call of this runs its first argument; None where it does not."""
    if path in RUNS_NOTHING or path.endswith(("Error", "Exception")):
        return None
    return RUNS.get(path) or next((why for start, why in RUNS_MODULES.items() if path.startswith(start)), None)


def first_word(name: str) -> str:
    """`sendMail` and `send_mail` begin with `send`."""
    import re

    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().strip("_").split("_")[0]
