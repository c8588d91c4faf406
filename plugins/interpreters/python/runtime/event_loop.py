"""asyncio without sockets: nothing can arrive, so to wait is to sleep until the next timer."""

import asyncio
import asyncio.selector_events
import math
import selectors
import time

from runtime import threads


def install():
    loop = asyncio.selector_events.BaseSelectorEventLoop
    for name in ("_make_self_pipe", "_close_self_pipe", "_write_to_self"):
        setattr(loop, name, lambda self: None)
    selectors.DefaultSelector = _NullSelector


class _NullSelector(selectors._BaseSelectorImpl):
    def select(self, timeout=None):
        if threads.run_deferred():
            return []
        if timeout is None:
            raise RuntimeError("deadlock: every task waits and no timer is set")
        if timeout > 0:
            # As the selectors of Linux, which wait for whole milliseconds.
            time.sleep(math.ceil(timeout * 1e3) * 1e-3)
        return []
