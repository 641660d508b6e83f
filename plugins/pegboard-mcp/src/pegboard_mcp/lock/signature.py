"""A lock that a team shares: signed with an SSH key, as OpenSSH signs files (`ssh-keygen -Y`, PROTOCOL.sshsig).

    pegboard.lock ──sign_lock──> pegboard.lock.sig ──why_refused──> None: it counts; else why it does not

Who may sign stands in a file of the person's own, in OpenSSH's format (ssh-keygen(1), ALLOWED SIGNERS). What is signed,
the signature and the signers are read once, within bounds, and ssh-keygen gets copies in a private folder: so what is
parsed is what was verified, whoever writes to the files meanwhile. Why one is refused is told from the signature itself
and from exit statuses, not from what ssh-keygen says, which differs between versions.

A verification that succeeded is remembered for these very bytes of lock, signature and signers. One that time may end
(`valid-before`, a certificate) is not.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import os
import stat
import sys
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard import PegboardError
from pegboard.config import expand_home
from pegboard.text import visible
from pegboard_mcp.lock.place import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pegboard_mcp.settings import McpSettings

NAMESPACE = "pegboard-lock"
"""What the signature is for: one that was made for a commit or a file says another."""
SUFFIX = ".sig"
SIGNERS = "allowed_signers"
MAX_SIGNATURE = 65_536
MAX_SIGNERS = 1_048_576
MAX_PRINCIPALS = 16
"""So many names of one signer are tried."""
VERIFY_S, SIGN_S, ASK_S, END_S = 10.0, 30.0, 120.0, 2.0
"""How long it may take to verify, all in all; to sign, to sign with a person at the terminal; and to end."""
AHEAD_S = 10.0
"""For so long what was verified in a thread counts in the loop, also where time ends it."""
SIGN_AGAIN = "sign it again: pegboard lock sign"
REMEMBERED = "lock-signatures.json"
MAX_REMEMBERED = 100
KEYS = ("id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk", "id_ecdsa_sk")
"""Names of keys in `~/.ssh`, the first that is there signs."""
_BEGIN, _END = b"-----BEGIN SSH SIGNATURE-----", b"-----END SSH SIGNATURE-----"


class SignatureError(PegboardError):
    """A signature does not count, or cannot be made; the message says why.

    Args:
        is_refused: whether the signature is at fault, and not what verifies it.
    """

    def __init__(self, message: str, *, hint: str | None = None, is_refused: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.is_refused = is_refused


class Signature(NamedTuple):
    """What a signature says of itself: the public key (as in a line of `authorized_keys`), and what it is for."""

    key: bytes
    namespace: str

    @property
    def fingerprint(self) -> str:
        """The key as people compare it, as `ssh-keygen -l` shows it."""
        return fingerprint_of(self.key)

    @property
    def options(self) -> str:
        """What stands before the key in a line of who may sign."""
        return f'namespaces="{NAMESPACE}"' + ("" if authority_of(self.key) is None else ",cert-authority")

    @property
    def line(self) -> str:
        """The key as it stands in files of OpenSSH; of a certificate that of who made it."""
        key = authority_of(self.key) or self.key
        kind = next(_strings(key), b"").decode("ascii", "replace")
        return visible(f"{kind} {base64.b64encode(key).decode()}")


def fingerprint_of(key: bytes) -> str:
    """A key as people compare it, as `ssh-keygen -l` shows it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def authority_of(key: bytes) -> bytes | None:
    """The key that made a certificate; None: it is a key (PROTOCOL.certkeys: what it is of, then 8 bytes of a serial
    number and 4 of a kind, strings, 16 bytes of times, strings, the last but one of which is the key)."""
    kind, _, is_certificate = next(_strings(key), b"").partition(b"-cert-v01@")
    if not is_certificate:
        return None
    skipped = {b"ssh-rsa": 4, b"ecdsa-sha2": 4, b"sk-ecdsa": 5, b"sk-ssh-ed25519": 4}
    count = next((number for begin, number in skipped.items() if kind.startswith(begin)), 3)
    at = sum(4 + len(one) for one in islice(_strings(key), count)) + 12
    at += sum(4 + len(one) for one in islice(_strings(key[at:]), 2)) + 16
    return next(islice(_strings(key[at:]), 3, None), None)


def signature_path(path: Path) -> Path:
    """Where the signature of a lock is."""
    return path.with_name(path.name + SUFFIX)


def _name_of(path: Path) -> str:
    """The signature of a lock, as people and callers are told of it."""
    return name_of(path) + SUFFIX


def is_there(path: Path) -> bool:
    """Whether anything lies where the signature of a lock would."""
    return os.path.lexists(signature_path(path))


def signers_path(settings: McpSettings) -> Path:
    """The file of those who may sign: what the settings name, else the user's own."""
    if settings.lock_signers is not None:
        return expand_home(settings.lock_signers)
    from pegboard.config import user_folder

    return user_folder("config") / SIGNERS


# -- what counts


def why_refused(settings: McpSettings, path: Path, content: bytes) -> SignatureError | None:
    """Why the signature of a lock does not make it count here; None: it does. Ask `is_there` first."""
    try:
        signature = load_signature(path)
        signers = load_signers(signers_path(settings))
        mark = _mark(content, signature, signers)
        if mark not in _remembered():
            if (found := _ahead.get(mark)) is not None and time.monotonic() - found[0] < AHEAD_S:
                if found[1] is not None:
                    return found[1]
            else:
                verify(path, content, signature, signers)
                if b"valid-" not in signers.lower() and b"cert-authority" not in signers.lower():
                    _remember(mark)
        _require_newest(path, content)
    except SignatureError as problem:
        return problem
    return None


def verify_ahead(settings: McpSettings, path: Path, content: bytes) -> None:
    """Ask `why_refused` in a thread, so that who asks in a loop a moment later hears it without a program."""
    problem = why_refused(settings, path, content)
    with contextlib.suppress(SignatureError):
        mark = _mark(content, load_signature(path), load_signers(signers_path(settings)))
        _ahead.clear()
        _ahead[mark] = time.monotonic(), problem


_ahead: dict[str, tuple[float, SignatureError | None]] = {}
"""What was verified last in a thread, by the mark of the three files, and when."""


def _mark(*files: bytes) -> str:
    return hashlib.sha256(b"".join(hashlib.sha256(one).digest() for one in files)).hexdigest()


def verify_lock(settings: McpSettings, path: Path, content: bytes) -> tuple[str, Signature]:
    """Verify the signature of a lock, whatever is remembered of it; who signed, and the signature.

    Raises:
        SignatureError: it does not count, or that cannot be said here.
    """
    signature = load_signature(path)
    verified = verify(path, content, signature, load_signers(signers_path(settings)))
    _require_newest(path, content)
    return verified


def _require_newest(path: Path, content: bytes) -> None:
    """Refuse a lock that is older than one that counted here, and remember this one else."""
    from pegboard_mcp.lock import age

    when, newest = age.signed_at(content), age.newest_of(path)
    if when < newest:
        name = name_of(path)
        raise SignatureError(
            f"{name} was signed {f'at {when}' if when else 'without a time'}, and one that was signed at {newest} "
            f"counted here already: an older one was put in its place",
            hint=f"where that is right, as on an older branch: pegboard trust {name}",
            is_refused=True,
        )
    age.remember(path, content)


def verify(path: Path, content: bytes, armored: bytes, signers: bytes) -> tuple[str, Signature]:
    """Verify a signature of this content against these signers; who signed, and what the signature says.

    Raises:
        SignatureError: it is refused, or ssh-keygen cannot be asked.
    """
    signature, name = _parse(armored, path), _name_of(path)
    if signature.namespace != NAMESPACE:
        said = visible(signature.namespace)[:40]
        raise _refused(f"{name} was made for something else: its namespace is {said!r}, not {NAMESPACE!r}", SIGN_AGAIN)
    until = time.monotonic() + VERIFY_S

    def ask(*action: str, given: bytes = content) -> _Done:
        return _ssh_keygen(action, given, max(until - time.monotonic(), 0.0))

    with _private_folder() as folder:
        made, allowed = folder / "signature", folder / "signers"
        made.write_bytes(armored)
        allowed.write_bytes(signers)
        right = ask("check-novalidate", "-n", NAMESPACE, "-s", str(made))
        if right.status != 0:
            raise _refused(
                f"{name} is not the signature of {name_of(path)} as it stands: the lock changed after it was signed, "
                f"or another file was signed",
                f"look at what changed in it, then {SIGN_AGAIN}",
            )
        found = ask("find-principals", "-s", str(made), "-f", str(allowed), given=b"")
        names = [one for one in found.said.decode("utf-8", "replace").splitlines() if one and not one.startswith("!")]
        for principal in names[:MAX_PRINCIPALS] if found.status == 0 else ():
            if ask("verify", "-f", str(allowed), "-I", principal, "-n", NAMESPACE, "-s", str(made)).status == 0:
                return visible(principal), signature
    if (by := authority_of(signature.key)) is not None:
        raise _refused(
            f"{name} is by a certificate of {fingerprint_of(by)} that nobody there vouches for, or not as it stands",
            "see that it names who signed and is valid still: ssh-keygen -L -f FILE; and that the line of that key "
            "there says cert-authority, and their name",
        )
    if base64.b64encode(signature.key) in signers:
        why = "its line there says another time (valid-after, valid-before) or other namespaces"
        raise _refused(
            f"{name} is by a key that may not sign now ({signature.fingerprint}): {why}",
            "change that line, if it is still to count; else let another sign: pegboard lock sign",
        )
    raise _refused(
        f"{name} is by a key that is not among the allowed signers ({signature.fingerprint})",
        "ask who signed it; if you let them, add the line that pegboard lock sign told them",
    )


def _refused(message: str, fix: str) -> SignatureError:
    return SignatureError(message, hint=fix, is_refused=True)


def _parse(armored: bytes, path: Path) -> Signature:
    """Take a signature apart: `SSHSIG`, a version, the public key, the namespace; all else is for ssh-keygen."""
    begin, end = armored.find(_BEGIN), armored.find(_END)
    try:
        blob = base64.b64decode(b"".join(armored[begin + len(_BEGIN) : end].split()), validate=True)
        key, namespace = (one for one, _ in zip(_strings(blob[10:]), range(2), strict=False))
        if begin < 0 or end < begin or not blob.startswith(b"SSHSIG"):
            raise ValueError
        return Signature(key, namespace.decode("utf-8"))
    except (ValueError, binascii.Error):
        raise _refused(f"{_name_of(path)} is not a signature of OpenSSH", SIGN_AGAIN) from None


def _strings(blob: bytes) -> Iterator[bytes]:
    """The strings of an SSH blob (RFC 4251, 5), each after its length."""
    at = 0
    while at + 4 <= len(blob):
        size = int.from_bytes(blob[at : at + 4])
        if at + 4 + size > len(blob):
            return
        yield blob[at + 4 : at + 4 + size]
        at += 4 + size


# -- files


def load_signature(path: Path) -> bytes:
    """The signature that lies beside a lock, within bounds.

    Raises:
        SignatureError: there is none, or it cannot be read.
    """
    place, name = signature_path(path), _name_of(path)
    if place.is_symlink():  # who laid it there would choose what is read
        raise _refused(f"{name} is a link, and not the signature itself", f"remove it, then {SIGN_AGAIN}")
    try:
        content = _read(place, MAX_SIGNATURE, getattr(os, "O_NOFOLLOW", 0))[0]
    except FileNotFoundError:
        raise SignatureError(
            f"{name_of(path)} is not signed: there is no {name}", hint="sign it: pegboard lock sign", is_refused=True
        ) from None
    except (OSError, ValueError) as problem:
        raise _refused(f"{name} cannot be read: {_why(problem)}", f"remove it, then {SIGN_AGAIN}") from None
    if content is None:
        raise _refused(f"{name} is larger than {MAX_SIGNATURE:,} bytes", SIGN_AGAIN)
    return content


def load_signers(place: Path) -> bytes:
    """Who may sign, within bounds; a file that others may change says nothing, as of `authorized_keys` (sshd(8)).

    Raises:
        SignatureError: it is not there, cannot be read, or others may change it.
    """
    name, where = place.name, name_of(place)  # callers read the message, and the person alone the hint
    try:
        content, found = _read(place, MAX_SIGNERS, 0)
        folders = _folders_above(place)
    except FileNotFoundError:
        raise SignatureError(
            f"nobody is allowed to sign a lock yet: there is no {name}",
            hint=f'write {where}, a line a signer: NAME namespaces="{NAMESPACE}" ssh-ed25519 KEY',
        ) from None
    except (OSError, ValueError) as problem:
        why = f"{name}, who may sign, cannot be read: {_why(problem)}"
        raise SignatureError(why, hint=f"look at {where}") from None
    if content is None:
        raise SignatureError(f"{name} is larger than {MAX_SIGNERS:,} bytes", hint=f"look at {where}")
    if os.name == "posix":
        if found.st_uid not in (os.geteuid(), 0):
            raise SignatureError(f"{name} is another user's, who could let anybody sign", hint=f"make {where} your own")
        if found.st_mode & 0o022:
            raise SignatureError(
                f"{name} is writable by others, who could let anybody sign", hint=f"chmod go-w {where}"
            )
        for folder, of in folders.items():
            if of.st_uid not in (os.geteuid(), 0):
                raise SignatureError(
                    f"a folder above {name} is another user's, who could let anybody sign",
                    hint=f"make {name_of(folder)} your own, or move the file",
                )
            if of.st_mode & 0o022 and not of.st_mode & stat.S_ISVTX:
                raise SignatureError(
                    f"a folder above {name} is writable by others, who could let anybody sign",
                    hint=f"chmod go-w {name_of(folder)}",
                )
    return content


def _folders_above(place: Path) -> dict[Path, os.stat_result]:
    """The folders in which a file lies, and those of what it leads to if it is a link: who may write to one of them may
    lay another in its place (`StrictModes` of sshd)."""
    above = (*place.absolute().parents, *place.resolve().parents)
    return {folder: folder.stat() for folder in above}


def _read(path: Path, limit: int, flags: int) -> tuple[bytes | None, os.stat_result]:
    """A file of at most so many bytes, None where it has more; and what it is."""
    flags |= os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe is not waited for
    number = os.open(path, flags)
    with os.fdopen(number, "rb") as file:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a file")
        content = file.read(limit + 1)
    return (content if len(content) <= limit else None), found


def _why(problem: Exception) -> str:
    return os.strerror(problem.errno) if isinstance(problem, OSError) and problem.errno else str(problem)


@contextlib.contextmanager
def _private_folder() -> Iterator[Path]:
    import tempfile

    try:
        with tempfile.TemporaryDirectory(prefix="pegboard-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    except OSError as problem:
        raise SignatureError(f"no temporary file can be written: {_why(problem)}") from None


# -- what is remembered


def _remembered_path() -> Path:
    from pegboard.config import user_folder

    return user_folder("state") / REMEMBERED


def _remembered() -> list[str]:
    try:
        marks: Any = json.loads(_read(_remembered_path(), MAX_SIGNATURE, 0)[0] or b"[]")
    except (OSError, ValueError, RecursionError):
        return []
    return [one for one in marks if isinstance(one, str)] if isinstance(marks, list) else []


def _remember(mark: str) -> None:
    from pegboard.config import private_folder, write_private

    place = _remembered_path()
    with contextlib.suppress(OSError):  # it is verified again, then
        private_folder(place.parent)
        write_private(place, json.dumps([*_remembered(), mark][-MAX_REMEMBERED:]).encode())


# -- signing


def sign_lock(path: Path, content: bytes, key: Path | None) -> Signature:
    """Sign a lock with the time in it, and write the signature beside it.

    Args:
        key: the private key, or its public part where an agent has the other; None: the first of `KEYS` in `~/.ssh`.

    Raises:
        SignatureError: there is no key, it cannot be used, or the signature cannot be written.
    """
    from pegboard.cli import is_terminal
    from pegboard.config import is_trusted, replace_file, trust, write_hint
    from pegboard_mcp.lock.age import with_time

    was_trusted = is_trusted(path, content)
    try:
        content = with_time(path, content)
    except ValueError as problem:
        hint = "write `version = 1` as its first line; or remove the file, and accept anew: pegboard lock --accept"
        raise SignatureError(f"{name_of(path)} has no place for the time: {problem}", hint=hint) from None
    key = _default_key() if key is None else key
    if not key.is_file():
        raise SignatureError(f"there is no key {name_of(key)}", hint="name one: pegboard lock sign --key FILE")
    _require_usable(key)
    is_asked = is_terminal(sys.stdin)
    with _private_folder() as folder:
        copy = folder / "lock"
        copy.write_bytes(content)
        argv = ["sign", "-n", NAMESPACE, "-f", str(key.absolute()), str(copy)]
        done = _ssh_keygen(argv, None if is_asked else b"", SIGN_S if not is_asked else ASK_S)
        made = folder / f"lock{SUFFIX}"
        if done.status != 0 or not made.is_file():
            said = visible(done.why.decode("utf-8", "replace").strip().rpartition("\n")[2])[:200]
            why = f": {said.replace(str(copy), path.name)}" if said else ""
            hint = f"look at the key: ssh-keygen -y -f {name_of(key)}"
            if not is_asked:
                hint = f"nobody can be asked for a passphrase here; ssh-agent keeps such a key: ssh-add {name_of(key)}"
            raise SignatureError(f"ssh-keygen did not sign with {name_of(key)}{why}", hint=hint)
        armored = made.read_bytes()
    try:
        replace_file(path.resolve(), content, path.stat().st_mode & 0o777)  # a link stays one
        replace_file(signature_path(path), armored, 0o644)
        if was_trusted:
            trust(path)
    except OSError as problem:
        hint = write_hint(problem, "see that its folder and the lock can be written by you")
        raise SignatureError(f"{_name_of(path)} cannot be written: {_why(problem)}", hint=hint) from None
    return _parse(armored, path)


def _require_usable(key: Path) -> None:
    """Require a key that ssh-keygen takes: of another, or one that others may read, it says little that helps.

    Raises:
        SignatureError: it is not one.
    """
    try:
        head, found = _read(key, MAX_SIGNATURE, 0)
    except (OSError, ValueError) as problem:
        raise SignatureError(f"{name_of(key)} cannot be read: {_why(problem)}", hint="name a key: --key FILE") from None
    begin = (head or b"")[:20]
    if not begin.startswith((b"-----BEGIN ", b"ssh-", b"ecdsa-", b"sk-")):
        raise SignatureError(f"{name_of(key)} is not an SSH key", hint="name one: pegboard lock sign --key FILE")
    is_open = os.name == "posix" and found.st_uid == os.geteuid() and found.st_mode & 0o077
    if is_open and begin.startswith(b"-----BEGIN "):
        raise SignatureError(
            f"others may read {name_of(key)}, so that ssh-keygen does not use it", hint=f"chmod 600 {name_of(key)}"
        )


def _default_key() -> Path:
    folder = expand_home("~/.ssh")
    found = [folder / f"{name}{end}" for name in KEYS for end in ("", ".pub") if (folder / f"{name}{end}").is_file()]
    if not found:
        raise SignatureError(
            "there is no SSH key in ~/.ssh", hint="make one: ssh-keygen -t ed25519; or name one: --key FILE"
        )
    return found[0]


class _Done(NamedTuple):
    status: int
    said: bytes
    why: bytes


def _ssh_keygen(action: Sequence[str], given: bytes | None, limit_s: float = VERIFY_S) -> _Done:
    """Run `ssh-keygen -Y`, to its end or that of its time.

    Args:
        given: what it reads; None: it may ask the person at the terminal, which it has then. Else it has none, and
            waits for nobody: it is in a session of its own, and starts no window that asks.

    Raises:
        SignatureError: it is not there, too old, or did not end.
    """
    import subprocess

    program = _program()
    if program is None:
        raise SignatureError(
            "ssh-keygen is not installed, which signs and verifies locks",
            hint="install OpenSSH: apt install openssh-client (Debian), dnf install openssh, apk add openssh-keygen",
        )
    windows = ("DISPLAY", "WAYLAND_DISPLAY", "SSH_ASKPASS")
    env = {name: value for name, value in os.environ.items() if name not in windows}
    env |= {"SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C"}
    with subprocess.Popen(  # noqa: S603 - a fixed program, its arguments a list
        [program, "-Y", *action],
        stdin=None if given is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        start_new_session=given is not None,
    ) as child:
        try:
            said, why = child.communicate(given, timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise SignatureError(f"ssh-keygen did not end within {limit_s:.3g} s and was stopped") from None
        finally:
            if child.poll() is None:
                _end(child)
    if b"usage:" in why:
        raise SignatureError("this ssh-keygen knows no signatures of files", hint="install OpenSSH 8.2 or later")
    return _Done(child.returncode, said, why)


def _program() -> str | None:
    """ssh-keygen, in the folders of PATH that are named from the root. One in the folder at hand, where Windows looks
    first, and PATH may say so, too, is whoever's that folder is: it would say that any signature is right."""
    import shutil

    name = "ssh-keygen.exe" if os.name == "nt" else "ssh-keygen"
    places = (Path(folder, name) for folder in os.get_exec_path() if os.path.isabs(folder))  # noqa: PTH117 - a text
    return next((found for place in places if (found := shutil.which(str(place))) is not None), None)


def _end(child: Any) -> None:
    import subprocess

    child.terminate()  # it puts the terminal's echo back, which a killed one does not
    try:
        child.wait(END_S)
    except subprocess.TimeoutExpired:
        child.kill()
