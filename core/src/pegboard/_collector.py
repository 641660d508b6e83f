"""The garbage collector, held back while much is made that stays."""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Make what stays: nothing is collected in the block, and at its end all that there is counts as old.

    Importing and registering make tens of thousands of values and free next to none: to look through them again and
    again, or once at the end, costs a short command a twentieth of its time. Where the collector is off it stays off;
    where the program has frozen values of its own (`gc.freeze`), what was made stays young.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()  # into the oldest generation, where a full collection finds it
        gc.enable()
