"""The decoder of trace packets: whatever the cuts, other packets are passed over, damage ends at a synchronisation."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.probe.itm import ItmDecoder

SYNC = b"\0\0\0\0\0\x80"


def stimulus(data: bytes, port: int = 0) -> bytes:
    """Packets of four bytes, then single ones, as the firmware writes them."""
    out = bytearray()
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        out += bytes([port << 3 | 3]) + data[at : at + 4]
    for byte in data[whole:]:
        out += bytes([port << 3 | 1, byte])
    return bytes(out)


def decode(raw: bytes, size: int | None = None) -> tuple[bytes, ItmDecoder]:
    decoder = ItmDecoder()
    step = size or len(raw) or 1
    return b"".join(decoder.feed(raw[at : at + step]) for at in range(0, len(raw), step)), decoder


data = st.one_of(st.binary(max_size=60), st.integers(0, 40).map(bytes), st.binary(max_size=300))
long_timestamp = st.tuples(
    st.sampled_from([0xC0, 0xD0, 0xE0, 0xF0, 0x94, 0xB4, 0x88, 0x8C, 0xF8]),
    st.lists(st.integers(0x80, 0xFF), max_size=3),
    st.integers(1, 0x7F),
).map(lambda parts: bytes([parts[0], *parts[1], parts[2]]))
halfword = st.binary(min_size=2, max_size=2).map(lambda two: (b"\x02" + two, two))
foreign = st.one_of(
    st.sampled_from([0x10, 0x30, 0x60, 0x08, 0x7C]).map(lambda byte: bytes([byte])),
    long_timestamp,
    st.tuples(st.integers(1, 31), st.binary(max_size=9)).map(lambda pair: stimulus(pair[1], pair[0])),
    st.binary(min_size=4, max_size=4).map(lambda word: b"\x8f" + word),
)
pieces = st.lists(
    st.one_of(
        data.map(lambda payload: (stimulus(payload), payload)),
        halfword,
        foreign.map(lambda raw: (raw, b"")),
        st.integers(0, 3).map(lambda more: (bytes(more) + SYNC, b"")),
        st.just((b"\x70", b"")),
    ),
    max_size=12,
)


@given(pieces, st.integers(1, 40))
def test_the_port_and_nothing_else_comes_out_however_the_bytes_are_cut(
    parts: list[tuple[bytes, bytes]], size: int
) -> None:
    raw = b"".join(raw for raw, _ in parts)
    got, decoder = decode(raw, size)
    assert got == b"".join(payload for _, payload in parts)
    assert decoder.counts.errors == 0
    assert decoder.counts.syncs == sum(raw.endswith(SYNC) and payload == b"" for raw, payload in parts)
    assert decoder.counts.overflows == sum(raw == b"\x70" for raw, _ in parts)


@given(st.binary(max_size=200), st.integers(1, 50))
def test_any_bytes_are_survived_and_cuts_never_matter(raw: bytes, size: int) -> None:
    whole, one = decode(raw)
    cut, other = decode(raw, size)
    assert whole == cut and one.counts == other.counts


@given(st.binary(max_size=100), data)
def test_after_a_synchronisation_everything_comes_again(damage: bytes, payload: bytes) -> None:
    before, _ = decode(damage + SYNC)
    got, _ = decode(damage + SYNC + stimulus(payload))
    assert got == before + payload


@given(data.filter(bool), st.data())
def test_a_cut_packet_is_counted(payload: bytes, draw: st.DataObject) -> None:
    raw = stimulus(payload)
    last = 5 if len(payload) % 4 == 0 else 2
    kept = raw[: len(raw) - draw.draw(st.integers(1, last - 1))]
    _, decoder = decode(kept + SYNC)
    assert (decoder.counts.errors, decoder.counts.syncs) == (1, 1)


def test_reserved_headers_are_errors() -> None:
    for byte in (0x04, 0x14, 0x80, 0x90, 0xA4):
        assert decode(bytes([byte]))[1].counts.errors == 1, hex(byte)
    assert decode(b"\0\0\x01x")[1].counts.errors == 1, "zeros that end in no synchronisation"
