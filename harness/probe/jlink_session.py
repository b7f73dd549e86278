"""A J-Link session through pylink-square: opening, connecting, closing, and typed errors for whatever fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from harness.core.errors import BoardBusyError, HarnessError, ProbeError
from harness.probe.base import Capability, ProbeFacts
from harness.probe.library import JLinkLibrary, LibraryPool, pylink, shared_pool
from harness.probe.pylink_lock import holder_ended, holder_of, lock_file, release_lock, remove_if_stale

if TYPE_CHECKING:
    from types import TracebackType

VIRTUAL_PRODUCT = "J-Link Virtual (QEMU)"


def _not_lost() -> HarnessError | None:
    return None


class JLinkSession:
    """One session of one probe. Use as a context manager, or call `open` and `close`.

    Args:
        serial: serial number of the probe; a probe is never opened without one.
        library: which J-Link library to load.
        why_lost: asked when the link is lost; returns the reason if it is known, such as a core that locked up.
    """

    kind = "jlink"
    capabilities = frozenset(
        {Capability.MEMORY, Capability.FLASH, Capability.REGISTERS, Capability.RESET, Capability.RTT, Capability.SWO}
    )

    def __init__(
        self,
        serial: int,
        library: JLinkLibrary | None = None,
        *,
        why_lost: Callable[[], HarnessError | None] = _not_lost,
        pool: LibraryPool | None = None,
    ) -> None:
        self.serial = serial
        self._choice = library or JLinkLibrary()
        self._pool = pool or shared_pool()
        self._why_lost = why_lost
        self._library: Any = None
        self._jlink: Any = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def open(self) -> None:
        """Open the probe.

        Raises:
            ToolMissingError: no J-Link library.
            BoardBusyError: another session has it open.
            ProbeError: there is no such probe, or it does not answer.
        """
        if self._jlink is not None:
            return
        remove_if_stale(self.serial)
        self._library = self._pool.take(self._choice)
        jlink = None
        try:
            with self._calling("opening", "Check that the probe is plugged in: `harness probes` lists them."):
                jlink = pylink().JLink(lib=self._library)
                jlink.open(serial_no=self.serial)
                self._jlink = jlink
        except BaseException:
            release_lock(jlink)
            self._pool.give_back(self._choice, self._library)
            self._library = None
            raise

    @property
    def is_open(self) -> bool:
        """Whether a session is open; a lost link counts as open until `close`."""
        return self._jlink is not None

    def connect(self, device: str, speed_khz: int = 4000, interface: str = "swd") -> None:
        """Connect to the core; `ProbeError` when it does not answer. The core stays as it is."""
        with self._calling("connecting", "Check power and wiring of the board and `jlink.device` of its type."):
            tif = pylink().enums.JLinkInterfaces.SWD if interface == "swd" else pylink().enums.JLinkInterfaces.JTAG
            self._jl.set_tif(tif)
            self._jl.connect(device, speed=speed_khz)

    def close(self) -> None:
        """End the session; the core stays as it is. May be called more than once."""
        jlink, self._jlink = self._jlink, None
        library, self._library = self._library, None
        if library is None:
            return
        with suppress(Exception):
            jlink.close()
        release_lock(jlink)
        self._pool.give_back(self._choice, library)

    def describe(self) -> ProbeFacts:
        """What the probe says of itself."""
        with self._calling("asking the probe for its version", "Unplug the probe and plug it in again."):
            product = str(self._jl.product_name)
            features = [str(item).strip() for item in self._jl.features]
            path = next((item.removeprefix("memory:") for item in features if item.startswith("memory:")), "")
            return ProbeFacts(
                kind=self.kind,
                serial=self.serial,
                product=product,
                firmware=str(self._jl.firmware_version),
                dll_version=str(self._jl.version),
                support="emulated" if product == VIRTUAL_PRODUCT else "unverified",
                capabilities=tuple(sorted(self.capabilities)),
                memory_path=path,
            )

    @property
    def _jl(self) -> Any:
        if self._jlink is None:
            raise ProbeError(f"J-Link {self.serial} is not open.", todo="Open it first.")
        return self._jlink

    @property
    def _dll(self) -> Any:
        if self._jlink is None:
            raise ProbeError(f"J-Link {self.serial} is not open.", todo="Open it first.")
        return self._library.dll()

    def _lost(self) -> HarnessError | None:
        """The reason when the link is gone, else None."""
        if self._jlink is None:
            return None
        with suppress(Exception):
            if self._jlink.connected():
                return None
        return self._why_lost() or ProbeError(
            f"The link to J-Link {self.serial} is lost.",
            why="The probe no longer answers: unplugged, or its host software ended.",
            todo="Check the cable and run again.",
            context={"serial": self.serial},
        )

    def _failed(self, action: str, reason: str = "") -> HarnessError:
        return self._lost() or ProbeError(
            f"J-Link {self.serial}: {action} failed.",
            why=reason,
            todo="Power-cycle the board and run again.",
            context={"serial": self.serial},
        )

    @contextmanager
    def _calling(self, action: str, cure: str) -> Iterator[None]:
        """Turn what pylink and ctypes raise into typed errors."""
        try:
            yield
        except HarnessError:
            raise
        except pylink().errors.JLinkException as error:
            raise self._translated(action, cure, str(error)) from error
        except AttributeError as error:
            if "undefined symbol" not in str(error):
                raise
            cure = "Update SEGGER's J-Link software: its library lacks a call that is needed."
            raise self._translated(action, cure, str(error)) from error
        except (OSError, ValueError, TypeError) as error:
            raise self._translated(action, cure, str(error)) from error

    def _translated(self, action: str, cure: str, reason: str) -> HarnessError:
        if "already open" in reason:
            pid = holder_of(self.serial)
            if holder_ended(self.serial):
                return BoardBusyError(
                    f"J-Link {self.serial} is locked by a process that has ended.",
                    why=f"Process {pid} was killed and left {lock_file(self.serial)}, which belongs to another user.",
                    todo="Have that user, or root, remove the file.",
                    context={"serial": self.serial, "pid": pid},
                )
            return BoardBusyError(
                f"J-Link {self.serial} is open in another session.",
                why=reason if pid is None else f"{reason} Its lock names process {pid}.",
                todo="End that session, or choose another board.",
                context={"serial": self.serial, "pid": pid},
            )
        return self._lost() or ProbeError(
            f"J-Link {self.serial}: {action} failed.", why=reason, todo=cure, context={"serial": self.serial}
        )
