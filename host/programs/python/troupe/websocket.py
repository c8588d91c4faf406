"""As much of WebSockets (RFC 6455) as it takes to ask a server of our own, on this machine."""

from __future__ import annotations

import base64
import os
import socket
import struct

from .errors import TroupeError

TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA
CONTINUED = 0x0


class WebSocket:
    """A connection on which each text is answered by one."""

    def __init__(self, address: str, path: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._stream = self._socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            (
                f"GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\n"
                "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                f"Sec-WebSocket-Key: {key}\r\n\r\n"
            ).encode()
        )
        status = self._stream.readline().decode()
        while self._stream.readline().strip():
            pass
        if " 101 " not in status:
            self.close()
            raise TroupeError(f"the server opens no socket: {status.strip()}")

    def ask(self, text: str) -> str:
        """Send a text, and wait for the next one."""
        self._send(TEXT, text.encode())
        said = b""
        while True:
            last, kind, payload = self._receive()
            if kind in (TEXT, CONTINUED):
                said += payload
                if last:
                    return said.decode()
            elif kind == PING:
                self._send(PONG, payload)
            elif kind == CLOSE:
                self.close()
                reason = payload[2:].decode(errors="replace")
                raise TroupeError(f"the server closed the session: {reason}")

    def close(self) -> None:
        """Close the connection, with the protocol's farewell where it is still open."""
        try:
            self._send(CLOSE, struct.pack("!H", 1000))
        except OSError:
            pass
        self._stream.close()
        self._socket.close()

    def _send(self, kind: int, payload: bytes) -> None:
        length = len(payload)
        if length < 126:
            head = struct.pack("!BB", 0x80 | kind, 0x80 | length)
        elif length < 1 << 16:
            head = struct.pack("!BBH", 0x80 | kind, 0x80 | 126, length)
        else:
            head = struct.pack("!BBQ", 0x80 | kind, 0x80 | 127, length)
        mask = os.urandom(4)
        repeated = (mask * (length // 4 + 1))[:length]
        masked = int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")
        self._socket.sendall(head + mask + masked.to_bytes(length, "big"))

    def _receive(self) -> tuple[bool, int, bytes]:
        first, second = self._read(2)
        length = second & 0x7F
        if length == 126:
            (length,) = struct.unpack("!H", self._read(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", self._read(8))
        return bool(first & 0x80), first & 0xF, self._read(length)

    def _read(self, length: int) -> bytes:
        read = self._stream.read(length)
        if len(read) < length:
            raise TroupeError("the server is gone")
        return read
