"""asyncio without sockets: nothing can arrive, so to wait is to sleep until the next timer."""

import asyncio
import asyncio.selector_events
import selectors
import time


def install():
    loop = asyncio.selector_events.BaseSelectorEventLoop
    for name in ("_make_self_pipe", "_close_self_pipe", "_write_to_self"):
        setattr(loop, name, lambda self: None)
    selectors.DefaultSelector = _NullSelector


class _NullSelector(selectors._BaseSelectorImpl):
    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("deadlock: every task waits and no timer is set")
        if timeout > 0:
            time.sleep(timeout)
        return []
