"""Trust in what `init` and `build` have just written: in their folder `pegboard list` needs no `pegboard trust` first.

A configuration that is found, and not named, says which manifest is served only as it was accepted: `pegboard trust`
notes its bytes, and those of the manifest. What we wrote ourselves is noted in the same list, in the same way, where
all that it was made of is of the person who runs us:

- there was nothing in the folder; what then goes into the manifest are the sources that `init` was asked for, and has
  read and started already; or
- configuration and manifest lay there as they are in that list; for `build`, draft and overrides, too.

So a folder that came from elsewhere stays untrusted whatever runs in it, and one in which somebody changed the manifest
is untrusted until `pegboard trust`. `init` follows changed hints and overrides without that: it starts the programs
that the folder names, so that running it is the larger trust.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import ConfigError
from pegboard.config import is_held, is_trusted, trust
from pegboard_toolgen._texts import as_word
from pegboard_toolgen.folder import BASE, DRAFT, HINTS, LOCK, MANIFEST, OUTPUTS, OVERRIDES, PROFILE
from pegboard_toolgen.write.serve import CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard_toolgen.folder import Folder

_OURS = (MANIFEST, CONFIG, DRAFT, BASE, HINTS, LOCK, OUTPUTS, PROFILE, OVERRIDES)


def is_own(folder: Folder, *, for_build: bool = False) -> bool:
    """Whether what will be made of this folder may be trusted, by what lies in it before anything is written.

    Args:
        folder: of outputs.
        for_build: nothing but the folder is read.
    """
    if not any((folder.path / name).exists() or (folder.path / name).is_symlink() for name in _OURS):
        return True
    return _is_accepted(folder, [MANIFEST, *(_made_of(folder) if for_build else ())])


def accept(folder: Folder, *, own: bool) -> str | None:
    """Note what was written as trusted, if it may be. Else what a person has to do before it is.

    What `build` would make the same manifest of is noted with it: a person who accepted that accepted what they say.

    Args:
        folder: after it was written.
        own: what `is_own` said before.
    """
    if not own and not _is_accepted(folder, [MANIFEST]):
        return _what_to_do(folder)
    files = [MANIFEST, *_made_of(folder)]
    if not _is_accepted(folder, files):
        try:
            trust(folder.path / CONFIG, named=[folder.path / name for name in files])
        except ConfigError as problem:  # the person's own folder of state cannot be written
            return f"the folder is not noted as trusted, and is used with --config: {problem}"
    return None


def _is_accepted(folder: Folder, files: Iterable[str]) -> bool:
    """Whether the configuration and these files lie there as they were accepted."""
    config = folder.read(CONFIG)
    if config is None or not is_trusted(folder.path / CONFIG, config):
        return False
    return all(is_held(folder.path / name) for name in files)


def _made_of(folder: Folder) -> list[str]:
    """What `build` makes the manifest of, beside the manifest itself."""
    overrides = sorted(one.name for one in (folder.path / OVERRIDES).glob("*.json"))
    return [DRAFT, *(f"{OVERRIDES}/{name}" for name in overrides)]


def _what_to_do(folder: Folder) -> str:
    return (
        "not all of this folder was made here, so its pegboard.toml is not trusted where it is found: look at it, then"
        f" pegboard trust {as_word(folder.path / CONFIG, 320)}; --config needs no trust"
    )
