"""`standardized.json`: the copy of a run that every bundle carries for tools that read the standardized output."""

from __future__ import annotations

from dataclasses import replace

from harness.core.strict_json import pretty
from harness.interop.bundle import standardized
from harness.interop.mlia.postprocess import postprocess
from harness.interop.mlia.schema import SCHEMA_VERSION
from harness.results.bundle import BundleContent, BundleFile
from harness.results.operators import operators_in
from harness.results.reader import records_of

NAME = "standardized.json"


def with_standardized(content: BundleContent) -> BundleContent:
    """The content with `standardized.json` added: what was measured, and under `extensions` what follows from it.

    Raises:
        EvidenceError: the records do not make a valid document.
    """
    files = {file.path: file.data for file in content.files}
    document = standardized(records_of(content.manifest(), files), operators_in(content))
    extended = {**postprocess(document).extended(), "results": document["results"]}
    schema = f"mlia.output/{SCHEMA_VERSION}"
    data = pretty(extended).encode()
    file = BundleFile(NAME, data, "application/json", name="mlia.standardized-output", schema=schema)
    return replace(content, files=(*content.files, file))
