"""What tools log while they are called, for servers that hand it to whoever called.

.. versionadded:: 0.1
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

__all__ = ["LOGGER", "ToolLogHandler"]

LOGGER = "pegboard.tool"
"""The logger below which tools log.

.. versionadded:: 0.1
"""


class ToolLogHandler(logging.Handler):
    """Hears what tools log, as long as the block; a subclass says in `emit` whose a record is.

    The logger hears from INFO on while there is such a block. Blocks may overlap and end in any order: the first one
    remembers the level and the last one puts it back.

    .. versionadded:: 0.1
    """

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._logger = logging.getLogger(LOGGER)
        self._before = self._logger.level

    def _others(self) -> list[ToolLogHandler]:
        return [one for one in self._logger.handlers if isinstance(one, ToolLogHandler)]

    def __enter__(self) -> Self:
        others = self._others()
        self._before = others[0]._before if others else self._logger.level
        if self._logger.getEffectiveLevel() > logging.INFO:
            self._logger.setLevel(logging.INFO)
        self._logger.addHandler(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._logger.removeHandler(self)
        if not self._others():
            self._logger.setLevel(self._before)
