"""What a disassembler's text says about an instruction: the reference for the plugin's classifier.

Works on mnemonics and operands as LLVM prints them, never on encodings, so it shares nothing with the code it judges.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NOP = 0xBF00
SLOT = 16
OBJDUMP = "llvm-objdump-19"
WIDEST = "cortex-m55"
"""The core whose instructions include those of all others here."""
CONDITIONS = "eq|ne|hs|cs|lo|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al"

Encoding = tuple[int, int | None]
"""First and second halfword; the second is None for a 16-bit instruction."""


@dataclass(frozen=True)
class Text:
    """A disassembled instruction: its encoding, mnemonic with suffixes, operands."""

    encoding: Encoding
    mnemonic: str
    operands: str

    @property
    def form(self) -> tuple[str, str]:
        """The mnemonic and the shape of the operands: registers, numbers and lists without their values."""
        shape = re.sub(r"@.*", "", self.operands)
        shape = re.sub(r"\b(r\d+|sp|lr|pc|sb|sl|fp|r12|ip)\b", "R", shape)
        shape = re.sub(r"\b([sdq])\d+\b", r"\1", shape)
        return self.mnemonic, re.sub(r"(R(-R)?, )+R", "R..", re.sub(r"-?(0x[0-9a-f]+|\d+)", "n", shape))


def disassemble(words: Sequence[Encoding], scratch: Path, cpu: str = WIDEST) -> list[Text | None]:
    """The text of each encoding on its own, None where a core has no such instruction. `scratch` is a directory."""
    # Behind an unknown encoding the disassembler may go on in the middle of one and see an IT there: so twice.
    known = [index for index, text in enumerate(_disassemble(words, scratch, cpu)) if text is not None]
    texts: list[Text | None] = [None] * len(words)
    for index, text in zip(known, _disassemble([words[index] for index in known], scratch, cpu), strict=True):
        texts[index] = text
    return texts


def _disassemble(words: Sequence[Encoding], scratch: Path, cpu: str) -> list[Text | None]:
    lines = [".syntax unified", ".thumb", ".text"]
    for index, (first, second) in enumerate(words):
        # A label before each, so that an unknown one cannot shift its neighbours; an IT or VPT block ends in NOPs.
        lines.append(f"s{index}:")
        lines.append(f".inst.n {first:#x}" if second is None else f".inst.w {first << 16 | second:#x}")
        lines.append(".inst.n " + ", ".join([f"{NOP:#x}"] * (7 if second is None else 6)))
    source, obj = scratch / "forms.s", scratch / "forms.o"
    source.write_text("\n".join(lines) + "\n")
    march = "-march=armv8.1-m.main+mve.fp+fp.dp"
    subprocess.run(["arm-none-eabi-as", march, "-mthumb", str(source), "-o", str(obj)], check=True, timeout=60)
    texts: list[Text | None] = [None] * len(words)
    for address, text in read_listing(list_object(obj, cpu)).items():
        if address % SLOT == 0 and address // SLOT < len(words):
            texts[address // SLOT] = text
    return texts


def list_object(obj: Path, cpu: str) -> str:
    """Listing of an object file or an image, as a core reads it."""
    command = [OBJDUMP, "-d", "--triple=thumb-none-eabi", f"--mcpu={cpu}", "--no-print-imm-hex", str(obj)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def read_listing(listing: str) -> dict[int, Text]:
    """Instructions of a listing by address; unknown ones and data are left out."""
    found: dict[int, Text] = {}
    for line in listing.splitlines():
        match = re.match(r"\s*([0-9a-f]+):((?: [0-9a-f]{4}){1,2})\s*\t(\S+)\s*(.*)$", line)
        if match and not match[3].startswith(("<", ".")):
            first, *rest = (int(halfword, 16) for halfword in match[2].split())
            found[int(match[1], 16)] = Text((first, rest[0] if rest else None), match[3], match[4])
    return found


def _each(kind: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), kind)


_EXACT: dict[str, str] = {
    **_each("branch", "b"),
    **_each("call", "bl"),
    **_each("call_indirect", "blx blxns"),
    **_each("branch_compare", "cbz cbnz"),
    **_each("table_branch", "tbb tbh"),
    **_each("loop_start", "dls dlstp"),
    **_each("loop_while", "wls wlstp"),
    **_each("loop_end", "le letp"),
    "lctp": "loop_clear",
    **_each("branch_future", "bf bfx bfl bflx bfcsel"),
    **_each("hint", "nop yield wfe wfi sev sevl hint esb csdb dbg pld pldw pli pac aut bti pacbti"),
    **_each("barrier", "dmb dsb isb sb ssbb pssbb dfb"),
    **_each("system", "mrs msr cps cpsie cpsid clrex sg tt ttt tta ttat"),
    **_each("exception", "udf svc bkpt hlt trap __brkdiv0"),
    **_each("multiply", "mul muls smmul smmulr smuad smuadx smusd smusdx smull umull"),
    **_each("divide", "sdiv udiv"),
    **_each("dsp", "usad8 usada8 sel"),
    **_each("load_double", "ldrd"),
    **_each("store_double", "strd"),
    **_each("store_multiple", "stm stmdb push"),
    **_each("fp_load_multiple", "vldmia vldmdb vpop fldmiax fldmdbx vlldm"),
    **_each("fp_store_multiple", "vstmia vstmdb vpush fstmiax fstmdbx vlstm"),
    **_each("fp_system", "vmrs vmsr vscclrm"),
    **_each("mve_predicate", "vpst vpnot vctp"),
}

_COPROCESSOR = re.compile(r"(cdp|ldc|stc|mcr|mrc|mcrr|mrrc|cx[123]d?a?)2?l?$")
_MAC = re.compile(
    r"(mla|mls|smla[bt][bt]|smlad|smladx|smlaw[bt]|smlsdx?|smmla|smmlar|smmls|smmlsr|"
    r"[su]mlal|umaal|smlal[bt][bt]|smlaldx?|smlsldx?)$"
)
_MULTIPLY = re.compile(r"smul[bt][bt]$|smulw[bt]$")
_DSP = re.compile(r"([su]|q|sh|uq|uh)(add|sub)(8|16)$|([su]|q|sh|uq|uh)(asx|sax)$|q(d?add|d?sub)$")
_LOAD = re.compile(r"ldr(s?[bh])?t?$")
_STORE = re.compile(r"str[bh]?t?$")
_EXCLUSIVE = re.compile(r"(ldrex|lda|ldaex)[bhd]?$|(strex|stl|stlex)[bhd]?$")
_ALU = re.compile(
    r"(adc|add|addw|and|asr|bic|eor|lsl|lsr|mov|movw|mvn|orn|orr|ror|rrx|rsb|sbc|sub|subw|neg)s?$|"
    r"(adr|bfc|bfi|cmn|cmp|teq|tst|movt|clz|rbit|rev|rev16|revsh|[su]bfx|[su]sat|[su]sat16|pkhbt|pkhtb|clrm|cpy)$|"
    r"[su]xta?[bh](16)?$|cs(el|et|etm|inc|inv|neg)$|c(inc|inv|neg)$|"
    r"(lsll|lsrl|asrl|sqshl|sqshll|srshr|srshrl|uqshl|uqshll|urshr|urshrl|sqrshr|sqrshrl|uqrshl|uqrshll)$"
)
_FP_KINDS = {
    **_each("fp_alu", "vadd vsub vabs vneg vcmp vcmpe vcvt vcvtb vcvtt vcvtr vcvta vcvtm vcvtn vcvtp"),
    **_each("fp_alu", "vrinta vrintm vrintn vrintp vrintr vrintx vrintz vmaxnm vminnm vjcvt"),
    **_each("fp_alu", "vseleq vselge vselgt vselvs"),
    **_each("fp_multiply", "vmul vnmul"),
    **_each("fp_mac", "vmla vmls vnmla vnmls vfma vfms vfnma vfnms"),
    "vdiv": "fp_divide",
    "vsqrt": "fp_sqrt",
    **_each("fp_move", "vmov vmovx vins"),
    "vldr": "fp_load",
    "vstr": "fp_store",
}
_MVE_MAC = re.compile(
    r"v(mul|mulh|rmulh|mull[bt]|mla|mlas|q(r?)dmulh|qdmull[bt]|qr?dml[as]d?h?x?|qr?dmlas?h|qr?dmlsdhx?)$"
)
_MVE_MAC_REDUCE = re.compile(
    r"v(r?mla(l?)(da)?v|r?mls(l?)(da)?v|r?ml[as]lda?vh|r?ml[as]lv?h|r?mla?lvh?)(a?x?)$|v(r?ml[as]l?(da)?vh?a?x?)$"
)
_MVE_REDUCE = re.compile(r"v(addv|addva|addlv|addlva|abav|maxv|minv|maxav|minav)$")
_MVE_FP_REDUCE = re.compile(r"v(max|min)nma?v$")
_MVE_FP_MAC = re.compile(r"v(mul|fma|fms|fmas|cmul|cmla)$")
_MVE_INTEGER = re.compile(
    r"v(add|sub|and|bic|orr|orn|eor|max|min|abd|hadd|hsub|rhadd|qadd|qsub|shl|rshl|qshl|qrshl|adci?|sbci?|cadd|hcadd|"
    r"clz|cls|rev16|rev32|rev64|mvn|abs|neg|qabs|qneg|dup|idup|ddup|iwdup|dwdup|brsr|sel|psel|shr|rshr|sli|sri|qshlu|"
    r"shll[bt]|movl[bt]|movn[bt]|qmovu?n[bt]|q?r?shru?n[bt]|shlc|maxa|mina|not)$"
)


def _is_pc_list(operands: str) -> bool:
    return bool(re.search(r"\bpc\}", operands.replace(" ", "")))


def _memory_of_mve(base: str, operands: str) -> str:
    scattered = bool(re.search(r"\[[^\]]*\bq\d", operands))
    load = base.startswith("vld")
    if re.match(r"v(ld|st)[24]\d$", base):
        return "mve_load_interleaved" if load else "mve_store_interleaved"
    if scattered:
        return "mve_gather" if load else "mve_scatter"
    return "mve_load" if load else "mve_store"


def _vector(base: str, suffix: str, operands: str) -> str | None:
    types = re.findall(r"[fsuip]\d+|\d+", suffix)
    half = "f16" in types and "f32" not in types
    floating = any(kind.startswith("f") for kind in types)
    precision = "half" if half else "single"
    if re.match(r"v(ld|st)([24]\d|r[bhwd])$", base):
        return _memory_of_mve(base, operands)
    if re.match(r"vpt[te]*$|vcmp$", base):
        return f"mve_compare_{precision}" if floating else "mve_compare"
    if base in ("vmov", "vdup") or (base == "vmvn" and "#" in operands):
        return "mve_move"
    if base in ("vorr", "vbic") and "#" in operands:
        return "mve_move"
    if floating:
        if _MVE_FP_REDUCE.match(base):
            return f"mve_{precision}_reduce"
        return f"mve_{precision}_mac" if _MVE_FP_MAC.match(base) else f"mve_{precision}"
    for pattern, kind in ((_MVE_MAC, "mve_mac"), (_MVE_REDUCE, "mve_reduce"), (_MVE_MAC_REDUCE, "mve_mac_reduce")):
        if pattern.match(base):
            return kind
    return "mve_integer" if _MVE_INTEGER.match(base) else None


def _jump(base: str, operands: str) -> str | None:
    first, _, rest = operands.partition(",")
    if base in ("bx", "bxns"):
        return "return" if first == "lr" else "branch_indirect"
    if first == "pc" and base in ("mov", "add"):
        return "return" if base == "mov" and rest.strip() == "lr" else "branch_indirect"
    if base == "pop" or base in ("ldm", "ldmdb"):
        return "load_return" if _is_pc_list(operands) else "load_multiple"
    if base == "ldr" and first == "pc":
        return "load_return" if rest.strip() == "[sp], #4" else "load_jump"
    return None


def _by_name(base: str, suffix: str, operands: str) -> str | None:
    jump = _jump(base, operands)
    if jump is not None:
        return jump
    if base in _EXACT:
        return _EXACT[base]
    if re.match(r"it[te]*$", base):
        return "if_then"
    if _COPROCESSOR.match(base):
        return "coprocessor"
    for pattern, kind in (
        (_LOAD, "load"),
        (_STORE, "store"),
        (_MAC, "mac"),
        (_MULTIPLY, "multiply"),
        (_DSP, "dsp"),
        (_ALU, "alu"),
    ):
        if pattern.match(base):
            return kind
    if _EXCLUSIVE.match(base):
        return "load_exclusive" if base.startswith("ld") else "store_exclusive"
    if not base.startswith("v"):
        return None
    if base == "vmov" and suffix == "32" and re.search(r"\b[qd]\d+\[", operands):
        return "fp_move"
    if re.search(r"\bq\d", operands) or base.startswith(("vpt", "vld2", "vld4", "vst2", "vst4")):
        return _vector(base, suffix, operands)
    if base == "vmov" and re.search(r"\bd\d+\[", operands) and re.search(r"8|16", suffix):
        return "mve_move"
    return _FP_KINDS.get(base)


def unpredictable(text: Text) -> bool:
    """Whether the architecture leaves open what an encoding does, though the disassembler prints it."""
    base = text.mnemonic.split(".")[0]
    first = text.operands.split(",")[0]
    if _COPROCESSOR.match(base):
        # Numbers 8 to 15 belong to floating point and vectors: what is printed here is unallocated.
        return not re.match(r"p[0-7]$", first)
    if base == "strex" and re.search(r"\bpc\b", text.operands):
        return True
    if text.encoding[1] is not None and first == "pc":
        return base != "ldr"
    return base == "pacbti"


def kind_of(text: Text) -> str | None:
    """The kind an instruction's text tells, None when it tells none."""
    full, _, suffix = text.mnemonic.partition(".")
    if re.match(rf"b({CONDITIONS})$", full):
        return "branch_conditional"
    suffix = "" if suffix in ("w", "n") else suffix
    kind = _by_name(full, suffix, text.operands)
    if kind is None and (cut := re.match(rf"(.+?)({CONDITIONS})$", full)):
        kind = _by_name(cut[1], suffix, text.operands)
    return kind
