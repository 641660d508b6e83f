"""Configuration: files, variables, options; the origin of each value; what may be shown of it.

`load_config` reads what holds here into a `Config`. Plugins declare their own settings as attrs classes, with `setting`
where a field is secret or may widen what tools may do. Nothing is imported for files that are not there.

.. versionadded:: 0.1
"""

from __future__ import annotations

from pegboard.config._config import Config, Row, files_in_use
from pegboard.config._files import NAMES, open_named, parse_toml, read_table
from pegboard.config._folders import expand_home, user_folder
from pegboard.config._layers import ConfigFault, ValueOrigin
from pegboard.config._load import find_found_file, load_config
from pegboard.config._private import (
    keep_private,
    open_private,
    private_folder,
    replace_file,
    write_hint,
    write_private,
    write_problem,
)
from pegboard.config._secrets import get_logger, looks_secret, mask_text, mask_value
from pegboard.config._settings import CoreSettings, Profile, ToolSettings, above_zero, body_bytes, not_negative, setting
from pegboard.config._trust import is_held, is_trusted, trust

__all__ = [
    "NAMES",
    "Config",
    "ConfigFault",
    "CoreSettings",
    "Profile",
    "Row",
    "ToolSettings",
    "ValueOrigin",
    "above_zero",
    "body_bytes",
    "expand_home",
    "files_in_use",
    "find_found_file",
    "get_logger",
    "is_held",
    "is_trusted",
    "keep_private",
    "load_config",
    "looks_secret",
    "mask_text",
    "mask_value",
    "not_negative",
    "open_named",
    "open_private",
    "parse_toml",
    "private_folder",
    "read_table",
    "replace_file",
    "setting",
    "trust",
    "user_folder",
    "write_hint",
    "write_private",
    "write_problem",
]
