"""`operators.json`: what the operators of a bundle's model are, so that it can be explained without the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from harness.core import strict_json
from harness.model.operators import OperatorFacts, operator_facts
from harness.results.bundle import BundleContent, BundleFile
from harness.results.errors import BundleError
from harness.results.reader import RunArtifacts

if TYPE_CHECKING:
    from harness.model.types import Model

NAME = "operators.json"
SCHEMA, VERSION = "harness.operators", 1


def operators_file(facts: Iterable[OperatorFacts]) -> BundleFile:
    """The artifact that holds the facts."""
    data = {"schema": SCHEMA, "schema_version": VERSION, "operators": [item.to_dict() for item in facts]}
    return BundleFile(
        NAME,
        strict_json.pretty(data).encode(),
        "application/json",
        name="harness.operators",
        schema=SCHEMA,
        schema_version=VERSION,
    )


def facts_of(model: Model, layers: Iterable[Any]) -> tuple[OperatorFacts, ...]:
    """Facts of a model's operators, with the kernels that an engine's `LayerFacts` name for them."""
    kernels: dict[int, tuple[str, ...]] = {}
    for layer in layers:
        kernels[layer.source_index] = (*kernels.get(layer.source_index, ()), *layer.kernels)
    return operator_facts(model, kernels)


def parse_operators(data: bytes) -> tuple[OperatorFacts, ...]:
    """The facts out of the artifact's bytes.

    Raises:
        EvidenceError: damaged, or of another version.
    """
    value = strict_json.loads(data, source=NAME)
    if not isinstance(value, Mapping) or (value.get("schema"), value.get("schema_version")) != (SCHEMA, VERSION):
        raise BundleError("unsupported_schema", f"{NAME} is not {SCHEMA} version {VERSION}.", artifact=NAME)
    rows = value.get("operators")
    try:
        if not isinstance(rows, list):
            raise ValueError("operators is no list")
        return tuple(map(OperatorFacts.from_dict, rows))
    except ValueError as error:
        raise BundleError("invalid_evidence", f"{NAME} is damaged.", artifact=NAME, why=str(error)) from None


def operators_of(run: RunArtifacts) -> tuple[OperatorFacts, ...]:
    """The facts that a bundle on disk carries; empty for one that carries none.

    Raises:
        EvidenceError: they are damaged.
    """
    declared = run.manifest is not None and any(item.path == NAME for item in run.manifest.artifacts)
    return parse_operators((run.path / NAME).read_bytes()) if declared else ()


def operators_in(content: BundleContent) -> tuple[OperatorFacts, ...]:
    """The facts in a bundle that is not on disk yet; empty where there are none."""
    return next((parse_operators(file.data) for file in content.files if file.path == NAME), ())
