"""The conversation of one boot: hello, inputs, clean window, instrumented passes, inferences, inspections, end."""

from __future__ import annotations

import secrets
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from harness.capture.collect import PassCollector, TensorCollector, contradiction, split_rows
from harness.capture.commands import PassCommand
from harness.capture.identity import check_identity, check_version, to_record
from harness.capture.messages import ChunkMessage, EndMessage, InputSetMessage, LayerMessage, PassEndMessage
from harness.capture.passes import NO_COUNTERS, NO_PLUGIN, REFUSED, PassPlan, plan_passes, small_state
from harness.capture.record import (
    CLEAN_WINDOW,
    Capture,
    CleanWindow,
    Hello,
    Inference,
    Inspection,
    LayerOutput,
    PassRecord,
)
from harness.capture.request import CaptureDeadlines, CaptureRequest, ExpectedImage, Tensors, WindowRequest
from harness.capture.session import Session, Transport
from harness.capture.wire import ColumnStatus, PassKind, Record, Source
from harness.core.deadline import Deadline
from harness.core.errors import HarnessError

AUTO_WARMUP = 3
"""How many inferences fill an auto window is told by warm ones: at least this many are run."""
BUSY_LOOP_RAN = "not measured: the clean window timed a busy loop in place of inferences"


def capture(
    transport: Transport,
    expected: ExpectedImage,
    request: CaptureRequest,
    deadlines: CaptureDeadlines | None = None,
    watch: Callable[[], None] = lambda: None,
    progress: Callable[[str], None] = lambda phase: None,
    *,
    where: str = "",
    nonce: int | None = None,
    tap: Callable[[bytes], None] = lambda data: None,
) -> Capture:
    """Hold one whole conversation with firmware that has just booted.

    Args:
        transport: to and from the target.
        expected: what the build record says of the image.
        request: what to run.
        deadlines: seconds for each part.
        watch: called after a silence; raises a typed error when the target is halted, faulted or gone.
        progress: told the name of each phase as it begins.
        where: the board, for errors; the expected board type when empty.
        nonce: of the session; random when None.
        tap: told every byte that comes, as it comes: evidence that outlives a failure.

    Raises:
        DeadlineError: something awaited did not come.
        ProtocolError: frames are damaged, lost, repeated or contradictory.
        IdentityMismatchError: another image runs.
        FirmwareError, HardFaultError: the firmware reports an error or a fault.
        HarnessError: what `watch` raises.

    An error's context holds `log` (text), `events` and `raw_bytes` (how many came).
    """
    deadlines = deadlines or CaptureDeadlines()
    nonce = nonce if nonce is not None else secrets.randbelow(0xFFFFFFFF) + 1
    session = Session(transport, nonce, watch, where or expected.board_type, tap)
    talk = _Conversation(session, request, deadlines, progress)
    try:
        return talk.hold(expected, nonce)
    except HarnessError as error:
        error.context.update(log="\n".join(session.log), events=list(session.events), raw_bytes=len(session.raw))
        raise


class _Conversation:
    def __init__(
        self,
        session: Session,
        request: CaptureRequest,
        deadlines: CaptureDeadlines,
        progress: Callable[[str], None],
    ) -> None:
        self._session = session
        self._request = request
        self._deadlines = deadlines
        self._progress = progress
        self._seconds: dict[str, float] = {}
        self._next_pass = 0
        self._inputs_on_target: Tensors | None = None
        self._unavailable: dict[str, str] = {}

    def hold(self, expected: ExpectedImage, nonce: int) -> Capture:
        hello = self._greet(expected, nonce)
        window = self._window(hello)
        probed = self._request.window is not None and self._request.window.probe == "busy_loop"
        if probed and window is not None:
            self._unavailable[CLEAN_WINDOW] = BUSY_LOOP_RAN
        passes = self._passes(hello)
        inferences = tuple(
            self._inference(hello, inputs, reset=number == 0)
            for number, inputs in enumerate(self._request.inference_inputs)
        )
        inspections = tuple(
            self._inspection(hello, inputs, reset=number == 0) for number, inputs in enumerate(self._request.inspect)
        )
        self._end()
        session = self._session
        return Capture(
            hello=hello,
            clean=None if probed else window,
            probe=window if probed else None,
            passes=passes,
            inferences=inferences,
            inspections=inspections,
            unavailable=self._unavailable,
            log="\n".join(session.log),
            raw=bytes(session.raw),
            frame_counts={Record(kind).name.lower(): count for kind, count in sorted(session.counts.items())},
            phase_seconds=self._seconds,
            events=tuple(session.events),
        )

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        if name not in self._seconds:
            self._progress(name)
        start = time.monotonic()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.monotonic() - start

    def _greet(self, expected: ExpectedImage, nonce: int) -> Hello:
        with self._phase("boot"):
            deadline = self._session.deadline(self._deadlines.boot, "the firmware's hello")
            hello = self._session.greet(deadline)
            check_version(hello)
            if hello.engine_code and hello.build_id == expected.build_id:
                # An engine that did not start has no tables to be compared; its error follows.
                self._session.expect(LayerMessage, deadline)
            deadline = self._session.deadline(self._deadlines.boot, "the firmware's list of layers")
            layers = [self._session.expect(LayerMessage, deadline) for _ in range(hello.op_count)]
            if [layer.index for layer in layers] != list(range(len(layers))):
                raise contradiction("The layers did not come in order.")
            check_identity(hello, layers, expected)
            return to_record(hello, nonce, layers)

    def _set_inputs(self, hello: Hello, inputs: Tensors) -> None:
        if inputs == self._inputs_on_target:
            return
        if tuple(map(len, inputs)) != hello.input_bytes:
            raise ValueError(f"inputs of {tuple(map(len, inputs))} bytes; the model takes {hello.input_bytes}")
        with self._phase("input"):
            deadline = self._session.deadline(self._deadlines.input, "the firmware's receipt of the inputs")
            for index, data in enumerate(inputs):
                self._session.send(self._session.commands.set_input(index, data), deadline)
                receipt = self._session.expect(InputSetMessage, deadline)
                if (receipt.index, receipt.size, receipt.crc32) != (index, len(data), zlib.crc32(data)):
                    raise contradiction(f"Input {index} lies on the target otherwise than it was sent.")
        self._inputs_on_target = inputs

    def _new_pass(self) -> int:
        self._next_pass += 1
        return self._next_pass

    def _run_pass(self, command: PassCommand, seconds: float, name: str) -> PassCollector:
        deadline = self._session.deadline(seconds, f"the end of the {name}")
        self._session.send([self._session.commands.start(command)], deadline)
        collector = PassCollector(command.pass_id, command.kind)
        while collector.end is None:
            collector.add(self._session.receive(deadline))
        if command.iterations and collector.end.iterations != command.iterations:
            raise contradiction(f"{name}: {command.iterations} iterations were asked for, another number was run.")
        if collector.end.warmup != command.warmup:
            raise contradiction(f"{name}: {command.warmup} warm-ups were asked for, another number was run.")
        return collector

    def _window(self, hello: Hello) -> CleanWindow | None:
        window = self._request.window
        if window is None:
            return None
        if hello.counter_unit == "none" and not hello.observer:
            self._unavailable[CLEAN_WINDOW] = NO_COUNTERS
            return None
        self._set_inputs(hello, self._request.inputs)
        with self._phase("window"):
            seconds = self._deadlines.window + window.settle_ms / 1000
            done = self._run_pass(self._window_command(hello, window), seconds, CLEAN_WINDOW)
        assert done.end is not None
        samples = done.words.astype("u8")
        if done.end.iterations == len(samples) and int(samples.sum()) != done.end.ticks:
            raise contradiction("Clean window: the ticks of its inferences do not add up to its total.")
        return CleanWindow(
            iterations=done.end.iterations,
            warmup=done.end.warmup,
            ticks=done.end.ticks,
            clock=hello.window_clock,
            clock_hz=hello.window_clock_hz,
            scope=hello.scope,
            lifecycle=hello.lifecycle,
            samples=samples,
            observed=done.observed,
            warm_ticks=done.end.warm_ticks,
            outputs_crc32=done.end.outputs_crc32,
            settle_ms=window.settle_ms,
            settle_ticks=done.end.settle_ticks,
        )

    def _window_command(self, hello: Hello, window: WindowRequest) -> PassCommand:
        command = PassCommand(
            self._new_pass(),
            PassKind.WINDOW,
            iterations=1,
            settle_ms=window.settle_ms,
            busy_loop=window.probe == "busy_loop",
        )
        if hello.lifecycle == "single":
            return command
        if window.mode == "fixed":
            return replace(command, iterations=self._request.iterations, warmup=self._request.warmup)
        return replace(
            command,
            iterations=0,
            warmup=max(AUTO_WARMUP, self._request.warmup),
            target_ms=window.target_ms,
            minimum=window.minimum,
            maximum=window.maximum,
        )

    def _passes(self, hello: Hello) -> tuple[PassRecord, ...]:
        if not self._request.per_layer:
            return ()
        plan = plan_passes(
            self._request.counters,
            cycles=hello.counter_unit != "none",
            slots=hello.counter_slots,
            observer=hello.observer,
            no_small=small_state(hello.self_test),
        )
        self._unavailable.update(plan.unavailable)
        if plan.passes:
            self._set_inputs(hello, self._request.inputs)
        records = [self._pass(hello, item) for item in plan.passes]
        # A pass of which the core counts nothing but cycles explains nothing that the others do not.
        telling = [record for record in records if len(record.counters) > 1]
        return tuple(telling or records[:1])

    def _pass(self, hello: Hello, plan: PassPlan) -> PassRecord:
        command = PassCommand(
            self._new_pass(),
            PassKind.COUNTERS,
            self._request.iterations,
            self._request.warmup,
            columns=tuple((column.source, column.number) for column in plan.columns),
        )
        with self._phase("pass"):
            done = self._run_pass(command, self._deadlines.counter_pass, f"pass {plan.name}")
        assert done.end is not None and done.table is not None
        table = done.table
        if tuple((column.source, column.id) for column in table.columns) != command.columns:
            raise contradiction(f"Pass {plan.name}: other columns came than were asked for.")
        if table.rows != hello.op_count:
            raise contradiction(f"Pass {plan.name}: {table.rows} rows came for {hello.op_count} layers.")
        for asked, got in zip(plan.columns, table.columns, strict=True):
            if got.status != ColumnStatus.OK:
                self._unavailable[asked.name] = NO_PLUGIN if hello.counter_unit == "none" else REFUSED
        samples, wrapped = split_rows(done.words, table.iterations, table.rows, table.columns)
        counted = [column for column in table.columns if column.status == ColumnStatus.OK]
        wide = [i for i, column in enumerate(counted) if column.source != Source.SMALL]
        return PassRecord(
            name=plan.name,
            counters=tuple(
                asked.name
                for asked, got in zip(plan.columns, table.columns, strict=True)
                if got.status == ColumnStatus.OK
            ),
            iterations=table.iterations,
            warmup=table.warmup,
            samples=samples,
            overflow=np.any(wrapped[:, :, wide], axis=2),
            wrapped=wrapped,
            segments=done.end.segments,
            outputs_crc32=done.end.outputs_crc32,
        )

    def _inference(self, hello: Hello, inputs: Tensors, *, reset: bool) -> Inference:
        self._set_inputs(hello, inputs)
        with self._phase("inference"):
            deadline = self._session.deadline(self._deadlines.inference, "the outputs of an inference")
            command = PassCommand(self._new_pass(), PassKind.INFER, iterations=1, reset=reset)
            self._session.send([self._session.commands.start(command)], deadline)
            outputs = self._tensors(Record.OUTPUT, command.pass_id, 0, hello.output_bytes, "Outputs", deadline)
            self._pass_end(command.pass_id, PassKind.INFER, deadline, outputs)
        return Inference(inputs, outputs)

    def _inspection(self, hello: Hello, inputs: Tensors, *, reset: bool) -> Inspection:
        self._set_inputs(hello, inputs)
        with self._phase("inspect"):
            deadline = self._session.deadline(self._deadlines.inspect, "the outputs of every layer")
            pass_id = self._new_pass()
            self._session.send([self._session.commands.inspect(pass_id, reset=reset)], deadline)
            layers = tuple(
                LayerOutput(
                    layer.index,
                    self._tensors(
                        Record.LAYER_OUTPUT, pass_id, layer.index, layer.output_bytes, f"Layer {layer.index}", deadline
                    ),
                )
                for layer in hello.layers
            )
            outputs = self._tensors(Record.OUTPUT, pass_id, 0, hello.output_bytes, "Outputs", deadline)
            self._pass_end(pass_id, PassKind.INSPECT, deadline, outputs)
        return Inspection(inputs, layers, outputs)

    def _tensors(
        self, kind: Record, pass_id: int, unit: int, sizes: tuple[int, ...], what: str, deadline: Deadline
    ) -> Tensors:
        collector = TensorCollector(sizes, what)
        while not collector.complete:
            chunk = self._session.expect(ChunkMessage, deadline)
            if (chunk.kind, chunk.pass_id, chunk.unit) != (kind, pass_id, unit):
                raise contradiction(f"{what}: bytes of pass {chunk.pass_id}, unit {chunk.unit} came instead.")
            collector.add(chunk)
        return tuple(collector.tensors)

    def _pass_end(self, pass_id: int, kind: PassKind, deadline: Deadline, outputs: Tensors) -> None:
        end = self._session.expect(PassEndMessage, deadline)
        if (end.pass_id, end.kind) != (pass_id, kind):
            raise contradiction(f"Pass {end.pass_id} ended where pass {pass_id} was due.")
        if end.outputs_crc32 != zlib.crc32(b"".join(outputs)):
            raise contradiction(f"Pass {pass_id}: the outputs that came are not those in target memory.")

    def _end(self) -> None:
        with self._phase("end"):
            deadline = self._session.deadline(self._deadlines.end, "the firmware's end record")
            self._session.send([self._session.commands.end()], deadline)
            end = self._session.expect(EndMessage, deadline)
            self._session.close_books(dict(end.counts))
