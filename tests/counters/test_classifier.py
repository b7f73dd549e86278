"""The classifier against a disassembler: a fifth of all 16-bit encodings, a seeded sample of 32-bit ones."""

from __future__ import annotations

import ctypes
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.virtual.counters import SOURCES, instruction_kinds
from harness.virtual.native_build import build_shared
from tests.counters.disassembly import WIDEST, Encoding, disassemble, kind_of, list_object, read_listing, unpredictable
from tests.counters.rig import BOARDS, OTHER_CORES, board_type, build

SAMPLE = 24_000
STRIDE_16 = 5
FORMS_AT_LEAST = 400

# Kinds whose encodings fix so many bits that a random sample misses them.
RARE = (
    (0xF3BF, 0x8F4F),  # dsb
    (0xF3BF, 0x8F5F),  # dmb
    (0xF3BF, 0x8F6F),  # isb
    (0xF3BF, 0x8F2F),  # clrex
    (0xF3AF, 0x8000),  # nop.w
    (0xF3EF, 0x8010),  # mrs
    (0xF380, 0x8810),  # msr
    (0xF7F0, 0xA000),  # udf.w
    (0xE97F, 0xE97F),  # sg
    (0xE840, 0xF100),  # tt
    (0xE8D0, 0xF001),  # tbb
    (0xE8D0, 0xF011),  # tbh
    (0xE89F, 0x800F),  # clrm
    (0xF85D, 0xFB04),  # pop {pc}
    (0xF8D0, 0xF000),  # ldr pc
    (0xF00F, 0xC001),  # le lr
    (0xF02F, 0xC001),  # le
    (0xF01F, 0xC001),  # letp
    (0xF040, 0xE001),  # dls
    (0xF020, 0xE001),  # dlstp
    (0xF040, 0xC001),  # wls
    (0xF000, 0xC001),  # wlstp
    (0xF00F, 0xE001),  # lctp
    (0xF000, 0xE801),  # vctp.8
    (0xFE71, 0x0F4D),  # vpst
    (0xFE31, 0x0F4D),  # vpnot
    (0xFC90, 0x1E00),  # vld20.8
    (0xFC90, 0x1E01),  # vld40.8
    (0xFC80, 0x1E00),  # vst20.8
    (0xFC80, 0x1E01),  # vst40.8
    (0xFD12, 0x1E00),  # vldrw from vector addresses
    (0xFD02, 0x1E00),  # vstrw to vector addresses
    (0xEEEE, 0x0F00),  # vmaxnmv.f32
    (0xFEEE, 0x0F00),  # vmaxnmv.f16
    (0xEEEC, 0x0F80),  # vminnmav.f32
    (0xEEF1, 0x0F00),  # vaddv.s8
    (0xEE89, 0x0F00),  # vaddlv.s32
    (0xEC01, 0x0F00),  # vmov r0, r1 from two lanes
    (0xEC10, 0x2F01),  # vmov two lanes from r1, r0
    (0xEEF1, 0xFA10),  # vmrs
    (0xEEE1, 0x0A10),  # vmsr
    (0xEC9F, 0x0A04),  # vscclrm
    (0xEEB1, 0x0AC0),  # vsqrt.f32
    (0xFB91, 0xF0F2),  # sdiv
    (0xFBB1, 0xF0F2),  # udiv
    (0xE851, 0x0F00),  # ldrex
    (0xE841, 0x2000),  # strex
    (0xE8D1, 0x0FAF),  # lda
    (0xE8C1, 0x0FAF),  # stl
)


class _Decoded(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int), ("words", ctypes.c_uint8), ("align_mask", ctypes.c_uint8))


@pytest.fixture(scope="module")
def classify(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Encoding], _Decoded]:
    sources = tmp_path_factory.mktemp("decoder")
    for file in SOURCES.iterdir():
        if file.name.startswith("decode") or file.name == "kinds.h":
            shutil.copy(file, sources)
    library = ctypes.CDLL(str(build_shared("libdecoder.so", sources, flags=("-fvisibility=default",))))
    library.decode.restype = _Decoded
    library.decode.argtypes = [ctypes.c_uint16, ctypes.c_uint16]
    return lambda encoding: library.decode(encoding[0], encoding[1] or 0)  # type: ignore[no-any-return]


def _sample(count: int) -> list[Encoding]:
    """32-bit encodings; bits are biased so that the dense groups do not crowd out vectors and rare ones."""
    source = random.Random(20)
    words: list[Encoding] = []
    for index in range(count):
        first, second = source.randrange(0xE800, 0x10000), source.randrange(0x10000)
        match index % 4:
            case 1:  # coprocessor space with the numbers of floating point and vectors
                first = source.choice([0xEC, 0xED, 0xEE, 0xEF, 0xFC, 0xFD, 0xFE, 0xFF]) << 8 | source.randrange(256)
                second = second & 0xF0FF | source.choice([8, 9, 10, 11, 14, 15]) << 8
                second &= ~source.choice([0, 1, 0x10, 0x11])
            case 2:  # vector and floating-point arithmetic
                first = source.choice([0xEE, 0xEF, 0xFE, 0xFF]) << 8 | source.randrange(256)
                first &= ~source.choice([0, 0x40, 0x1, 0xE, 0xF])
                second = second & 0xF0FE | source.choice([8, 9, 10, 11, 14, 15, source.randrange(16)]) << 8
                second &= ~source.choice([0, 0x1000, 0x80, 0x81])
            case 3:  # groups that are told apart by few bits of the second halfword
                groups = [0xE8, 0xE9, 0xEA, 0xF0, 0xF3, 0xF8, 0xF9, 0xFA, 0xFB]
                first = source.choice(groups) << 8 | source.randrange(256)
                second = source.choice(
                    [second | 0xF000, second & 0xF0FF, second & 0xFFF | source.choice([0x8, 0xC, 0xE, 0xF]) << 12]
                )
                if source.random() < 0.5:
                    second = second & 0xFF00 | source.choice([0, 0x01, 0x10, 0x40, 0x80, 0xC0])
        words.append((first, second))
    return words


@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m7", "cortex-m33", WIDEST])
def test_classifier_agrees_with_the_disassembler(
    cpu: str, classify: Callable[[Encoding], _Decoded], tmp_path: Path
) -> None:
    words: list[Encoding] = [(first, None) for first in range(0, 0xE800, STRIDE_16)]
    words += [*RARE, *_sample(SAMPLE)] if cpu == WIDEST else _sample(SAMPLE // 4)
    kinds = instruction_kinds()
    forms: set[tuple[str, str]] = set()
    seen: set[str] = set()
    disagreements: list[str] = []
    for encoding, text in zip(words, disassemble(words, tmp_path, cpu), strict=True):
        if text is None or unpredictable(text):
            continue
        expected, found = kind_of(text), kinds[classify(encoding).kind]
        assert expected is not None, f"the reference does not know {text}"
        forms.add(text.form)
        seen.add(found)
        if expected != found:
            disagreements.append(f"{encoding} {text.mnemonic} {text.operands}: {expected}, not {found}")
    assert disagreements == []
    assert "unknown" not in seen
    assert len(forms) >= FORMS_AT_LEAST // (1 if cpu == WIDEST else 2)
    if cpu == WIDEST:
        # Every kind was met, so that no column of the comparison is empty.
        assert set(kinds) - seen == {"unknown"}


@pytest.mark.parametrize("name", [*BOARDS, *OTHER_CORES])
def test_every_instruction_of_an_image_is_classified(
    name: str, classify: Callable[[Encoding], _Decoded], tmp_path: Path
) -> None:
    elf = build(board_type(name), "mixed", tmp_path)
    kinds = instruction_kinds()
    count = 0
    for address, text in read_listing(list_object(elf, board_type(name).core.name)).items():
        if unpredictable(text):
            continue
        assert kinds[classify(text.encoding).kind] == kind_of(text), hex(address)
        count += 1
    assert count > 100


@pytest.mark.parametrize(
    ("encoding", "words", "align_mask"),
    [
        ((0xB5F0, None), 5, 0),  # push {r4-r7, lr}
        ((0xBDF0, None), 5, 0),  # pop {r4-r7, pc}
        ((0xC80F, None), 4, 0),  # ldm r0!, {r0-r3}
        ((0xE92D, 0x4FF0), 9, 0),  # push {r4-r11, lr}
        ((0xF85D, 0xFB04), 1, 0),  # pop {pc}
        ((0xED2D, 0x8B10), 16, 0),  # vpush {d8-d15}
        ((0xEC91, 0x0A04), 4, 0),  # vldmia r1, {s0-s3}
        ((0x6808, None), 0, 3),  # ldr r0, [r1]
        ((0x8008, None), 0, 1),  # strh r0, [r1]
        ((0x7808, None), 0, 0),  # ldrb r0, [r1]
        ((0xF8B1, 0x0000), 0, 1),  # ldrh.w r0, [r1]
        ((0xE9D1, 0x0100), 0, 0),  # ldrd r0, r1, [r1]
        ((0x4288, None), 0, 0),  # cmp
    ],
)
def test_words_and_alignment(
    classify: Callable[[Encoding], _Decoded], encoding: Encoding, words: int, align_mask: int
) -> None:
    decoded = classify(encoding)
    assert (decoded.words, decoded.align_mask) == (words, align_mask)
