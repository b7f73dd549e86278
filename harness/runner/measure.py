"""What a capture is asked for, and one boot of a flashed board."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.capture.conversation import capture
from harness.capture.disturb import disturbed
from harness.capture.request import CaptureDeadlines, CaptureRequest, ExpectedImage, WindowRequest
from harness.core.deadline import Deadline
from harness.core.errors import HarnessError
from harness.probe import transports
from harness.probe.transports import Link
from harness.runner.board import silent
from harness.runner.inputs import ZEROS, Given, Source, tensor_cases

if TYPE_CHECKING:
    from harness.capture.record import Capture
    from harness.image.record import Build
    from harness.probe.base import Transport
    from harness.runner.board import FlashedBoard
    from harness.runner.deadlines import Deadlines

Tensors = tuple[bytes, ...]


def expected_image(build: Build) -> ExpectedImage:
    """What the running firmware must say of itself."""
    return ExpectedImage(
        build_id=build.build_id,
        board_type=build.plan.board,
        model_sha256=build.plan.model.sha256,
        engine=build.engine.reported_name,
        input_bytes=tuple(tensor.nbytes for tensor in build.engine.input_tensors),
        output_bytes=tuple(tensor.nbytes for tensor in build.engine.output_tensors),
        layer_output_bytes=tuple(tuple(layer.output_bytes) for layer in build.engine.layers),
        cpu_clock_hz=build.plan.cpu_clock_hz,
        timing_scope=build.timing_scope,
        lifecycle=build.lifecycle,
        operators=tuple((layer.op, layer.source_index) for layer in build.engine.layers),
    )


def own_inputs(build: Build) -> Given:
    """The build's own inputs, which windows and passes run on unless told otherwise."""
    sources = tuple(ZEROS if item.source == "zero" else Source("file", item.file.path.name) for item in build.inputs)
    return Given(build.engine.input_tensors, (build.input_bytes(),), (sources,))


def wanted_inferences(build: Build, inputs: Any) -> Given:
    """Input bytes of each inference to run for its outputs; the build's own inputs when none are given."""
    given = tensor_cases(inputs, build.engine.input_tensors)
    return given if given.cases else own_inputs(build)


def capture_request(
    build: Build, inferences: Sequence[Tensors], inspected: Sequence[Tensors], timed: Tensors | None = None
) -> CaptureRequest:
    """What the plan wants of one boot; windows and passes run on `timed`, by default the build's own inputs."""
    settings = build.plan.settings
    single = build.lifecycle == "single"
    return CaptureRequest(
        inputs=build.input_bytes() if timed is None else timed,
        iterations=1 if single else settings["iterations"],
        warmup=0 if single else settings["warmup"],
        window=WindowRequest(
            mode="fixed" if single else settings["window-mode"],
            target_ms=settings["window-target-ms"],
            minimum=settings["window-min"],
            maximum=settings["window-max"],
            settle_ms=settings["settle-ms"] or 0,
            probe=settings["clean-window-probe"],
        ),
        counters=settings["pmu-counters"],
        per_layer=settings["per-layer"],
        inference_inputs=tuple(inferences),
        inspect=tuple(inspected),
    )


def measure(
    ready: FlashedBoard,
    request: CaptureRequest,
    deadlines: Deadlines,
    log: Callable[[str], None] = silent,
    *,
    tap: Callable[[bytes], None] = lambda data: None,
) -> Capture:
    """Boot a flashed board and capture what it says; the core is halted afterwards.

    `tap` is told every byte that comes, as it comes: evidence that outlives a failure.

    Raises:
        TargetError: the firmware or the core failed.
        CaptureError: what it sent is not a complete, consistent capture, or did not come in time.
        ProbeError: the link was lost.
    """
    transport = boot(ready, deadlines)
    log(f"{ready.name}: booted, {transport.name}")
    try:
        result = capture(
            transport,
            expected_image(ready.build),
            request,
            CaptureDeadlines.of(deadlines.seconds),
            watch=ready.probe.check_target,
            progress=log,
            where=ready.name,
            tap=tap,
        )
    except HarnessError as error:
        error.context["events"] = [*error.context.get("events", ()), *transport.events]
        raise
    finally:
        transport.close()
    ready.probe.halt(Deadline(deadlines["release"], "the core to halt", ready.name))
    result = replace(result, events=(*result.events, *transport.events))
    noise = ready.lease.noise
    return disturbed(result, noise.boot()) if noise is not None else result


def boot(ready: FlashedBoard, deadlines: Deadlines) -> Transport:
    """Boot a flashed board over the transport that its image was built for. Raises like `measure`."""
    plan = ready.build.plan
    name = str(plan.settings["transport"])
    deadline = Deadline(deadlines["boot"], "the firmware to start", ready.name)
    port = ready.lease.port(name)
    link = Link(ready.probe, ready.name, ready.build.rtt_address, port, plan.cpu_clock_hz)
    return ready.lease.wire(transports.boot(name, link, deadline))
