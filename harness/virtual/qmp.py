"""A small client of QEMU's machine protocol."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from harness.core.deadline import Deadline
from harness.core.errors import TargetError

_ANSWER = re.compile(r" is (0x[0-9a-f]+)")


class QmpClient:
    """One connection to a QMP socket; QEMU serves one client a socket."""

    def __init__(self, path: Path, deadline: Deadline) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(max(deadline.remaining(), 0.001))
            self._socket.connect(str(path))
            self._file = self._socket.makefile("rb")
            self._receive()
            self.execute("qmp_capabilities")
        except (OSError, ValueError) as error:
            self._socket.close()
            raise TargetError(
                "The emulator's control socket does not answer.",
                why=str(error),
                todo="Run the command again; if it stays so, `harness doctor`.",
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._file.close()
        self._socket.close()

    def _receive(self) -> dict[str, Any]:
        line = self._file.readline()
        if not line:
            raise ConnectionResetError("the emulator closed the connection")
        answer = json.loads(line)
        if not isinstance(answer, dict):
            raise ValueError("not a QMP message")
        return answer

    def execute(self, command: str, **arguments: Any) -> Any:
        """Run a command and return what it returns; events are passed over.

        Raises:
            OSError: no answer in time, or the emulator is gone.
            TargetError: the emulator refused.
        """
        self._socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        while True:
            answer = self._receive()
            if "event" in answer:
                continue
            if "error" in answer:
                raise TargetError(f"The emulator refused {command}.", why=str(answer["error"].get("desc", "")))
            return answer.get("return")

    def ptys(self) -> dict[str, str]:
        """Paths of the character devices that are ptys, by label."""
        found = ((str(item["label"]), str(item["filename"])) for item in self.execute("query-chardev"))
        return {label: name.partition("pty:")[2] for label, name in found if "pty:" in name}

    def host_address(self, address: int) -> int | None:
        """Where guest physical memory lies in the emulator's own memory; None when it cannot be told."""
        text = str(self.execute("human-monitor-command", **{"command-line": f"gpa2hva {address:#x}"}))
        found = _ANSWER.search(text)
        return int(found[1], 16) if found else None
