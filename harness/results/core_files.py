"""The files that every bundle has in the published schemas: summary, metadata, and the per-layer table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.core.frozen import thaw
from harness.core.strict_json import pretty
from harness.results.bundle import BundleFile
from harness.results.context import RunContext
from harness.results.documents import layer_table, metadata_document, summary_document
from harness.results.facts import MeasuredResult
from harness.results.reader import METADATA_SCHEMA, METADATA_VERSION, SUMMARY_SCHEMA, SUMMARY_VERSION
from harness.results.types import RunEvaluation

JSON = "application/json"


def summary_file(document: Mapping[str, Any]) -> BundleFile:
    """`summary.json`."""
    return _core("summary.json", document, "hpx.summary", SUMMARY_SCHEMA, SUMMARY_VERSION)


def metadata_file(document: Mapping[str, Any]) -> BundleFile:
    """`run_metadata.json`."""
    return _core("run_metadata.json", document, "hpx.run-metadata", METADATA_SCHEMA, METADATA_VERSION)


def core_files(result: MeasuredResult, context: RunContext, evaluation: RunEvaluation) -> list[BundleFile]:
    """All three, of a run that has layers."""
    return [
        summary_file(summary_document(result, context, evaluation)),
        metadata_file(metadata_document(result.metadata, context)),
        BundleFile(
            "profile_results.csv",
            layer_table(result, context),
            "text/csv",
            "core",
            "hpx.profile-layers",
            optional=False,
        ),
    ]


def _core(path: str, data: Mapping[str, Any], name: str, schema: str, version: int) -> BundleFile:
    return BundleFile(path, pretty(thaw(data)).encode("utf-8"), JSON, "core", name, schema, version, False)
