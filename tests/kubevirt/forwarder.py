"""Carries connections into the network namespace that it runs in; standard library only, started by network.py.

Each argument is `file:port`: a listening socket that it inherits, made elsewhere, and the port of loopback that the
connections it accepts there are carried to here.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from functools import partial


async def carry(port: int, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
    """One connection, until both sides have said all."""
    try:
        far, onward = await asyncio.open_connection("127.0.0.1", port)
    except OSError:  # nobody listens: who connected gets what they would get without us, an end
        back.transport.abort()
        return
    try:
        await asyncio.gather(pump(near, onward), pump(far, back))
    finally:
        onward.close()
        back.close()


async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Ends by ending the sink, as the source was ended; a broken source breaks it."""
    try:
        while data := await source.read(1 << 16):
            sink.write(data)
            await sink.drain()
        sink.write_eof()
    except OSError:
        sink.transport.abort()


async def main(pairs: list[str]) -> None:
    async with contextlib.AsyncExitStack() as servers:
        for pair in pairs:
            file, _, port = pair.partition(":")
            accepts = socket.socket(fileno=int(file))
            await servers.enter_async_context(await asyncio.start_server(partial(carry, int(port)), sock=accepts))
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
