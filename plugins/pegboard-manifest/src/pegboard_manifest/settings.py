"""The settings of pegboard-manifest: `[plugins.manifest]`."""

from __future__ import annotations

import attrs

from pegboard import setting


@attrs.frozen(kw_only=True)
class ManifestSettings:
    """`[plugins.manifest]`.

    .. versionadded:: 0.1
    """

    files: tuple[str, ...] = setting(
        (),
        widens=True,
        names_file=True,
        beside_file=True,
        help="manifests whose tools are on the board; relative paths begin at the file that says them",
    )
    trusted: bool = setting(
        False, widens=True, help="what their HTTP tools answer may go into other tools without a question"
    )
