"""The transports there are: what firmware and host use for each, and when to choose it.

Adding one is a file in `firmware/hal/`, a module of `harness.probe` with a function `boot`, and a row here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class TransportKind:
    """One way to carry bytes between target and host.

    Attributes:
        name: the value of the setting `transport`.
        firmware: its object in `firmware/hal/hal.h`.
        module: the host's side; has `boot(link, deadline)`, see `harness.probe.transports`.
        needs: what has to be there.
        up: what carries bytes to the host.
        down: what carries commands to the target.
        choose: when to choose it.
    """

    name: str
    firmware: str
    module: str
    needs: str
    up: str
    down: str
    choose: str


_TABLE = (
    TransportKind(
        "rtt",
        firmware="hal_rtt",
        module="harness.probe.rtt",
        needs="the debug probe",
        up="ring buffer in target memory",
        down="ring buffer in target memory",
        choose="always, unless something below speaks against it: fastest, no pins, nothing lost",
    ),
    TransportKind(
        "serial",
        firmware="hal_uart",
        module="harness.probe.serial_port",
        needs="a UART and its port on the host",
        up="UART",
        down="UART",
        choose="the probe has no RTT, or the core's memory cannot be read while it runs",
    ),
    TransportKind(
        "cdc",
        firmware="hal_cdc",
        module="harness.probe.cdc",
        needs="a USB device controller on the board, its cable",
        up="USB CDC",
        down="USB CDC",
        choose="the board is on USB anyway, or a UART is too slow",
    ),
    TransportKind(
        "swo",
        firmware="hal_itm",
        module="harness.probe.swo",
        needs="the debug probe, the SWO pin, a core with an ITM",
        up="stimulus port 0 of the ITM",
        down="ring buffer in target memory, as RTT",
        choose="reading memory would disturb the run and a pin is to spare; slow, and what the probe misses is lost",
    ),
)

TRANSPORTS: Mapping[str, TransportKind] = MappingProxyType({kind.name: kind for kind in _TABLE})
"""All transports by name, the default first."""
