"""Run one command and end it when whoever asked for it is gone.

Run as a script (`python -I -S guard.py COMMAND ...`): standard input is a pipe held by the owner. End of file there
means the owner is dead, and the command's whole process group is killed. If this process is killed, the kernel kills
the command. Standard output and error belong to the command; the exit status is the command's.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None, use_errno=True)


def _die_with_parent() -> None:
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _kill_group(pgid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pgid, signal.SIGKILL)


def main(argv: list[str]) -> int:
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_die_with_parent, restore_signals=True
        )
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        return 127
    status: int | None = None
    while status is None:
        ready, _, _ = select.select([0, read_end], [], [], 5.0)
        if 0 in ready and not os.read(0, 4096):
            break
        if read_end in ready:
            os.read(read_end, 4096)
        status = child.poll()
    _kill_group(child.pid)
    code = child.wait() if status is None else status
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
