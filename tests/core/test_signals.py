"""SIGTERM unwinds a process that holds something, once, and only where nobody else handles it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from threading import Thread

from harness.core.signals import TERMINATED, unwound_by_sigterm

HELD = """
import os, signal
from harness.core.signals import TERMINATED, unwound_by_sigterm
with unwound_by_sigterm(lambda: SystemExit(TERMINATED)):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        print("let go", flush=True)
"""


def test_sigterm_unwinds_once() -> None:
    done = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (TERMINATED, "let go\n")


def test_a_handler_of_somebody_else_stays() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        with unwound_by_sigterm(SystemExit):
            os.kill(os.getpid(), signal.SIGTERM)
        assert seen == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_other_threads_change_nothing() -> None:
    handlers: list[object] = []

    def inside() -> None:
        with unwound_by_sigterm(SystemExit):
            handlers.append(signal.getsignal(signal.SIGTERM))

    thread = Thread(target=inside)
    thread.start()
    thread.join()
    assert handlers == [signal.SIG_DFL]
    with unwound_by_sigterm(SystemExit):
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
