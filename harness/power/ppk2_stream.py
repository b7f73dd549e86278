"""From the bytes of one PPK2 capture to a waveform and its gaps."""

from __future__ import annotations

from harness.power.ppk2_decode import StreamParser, Words
from harness.power.ppk2_repeats import RepeatFinder
from harness.power.waveform import Gap, WaveformWriter


class Ppk2Stream:
    """Parses what the device sends and writes the words; one a capture."""

    def __init__(self) -> None:
        self._parser = StreamParser()
        self._repeats = RepeatFinder()

    def feed(self, data: bytes, writer: WaveformWriter) -> int:
        """Write the samples that these bytes complete; their number."""
        return self._write(self._parser.feed(data), writer)

    def finish(self, writer: WaveformWriter) -> tuple[Gap, ...]:
        """Write what was held back; all gaps of the capture, in order."""
        self._write(self._parser.finish(), writer)
        gaps = [
            Gap(event.index, event.lost, event.kind, event.ambiguous, event.dropped_bytes)
            for event in self._parser.events
            if event.kind != "start"
        ]
        return tuple(sorted((*gaps, *self._repeats.gaps), key=lambda gap: gap.index))

    def _write(self, words: Words, writer: WaveformWriter) -> int:
        self._repeats.feed(words)
        writer.append_words(words)
        return len(words)
