"""`harness vela MODEL`: a predicted result from the Ethos-U compiler's estimates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def vela(
    model: Annotated[Path, typer.Argument(help="the .tflite file")],
    accelerator: Annotated[str, typer.Option("--accelerator", help="as in ethos-u55-128")] = "",
    system_config: Annotated[str, typer.Option("--system-config", help="Vela's name of clocks and bandwidths")] = "",
    memory_mode: Annotated[str, typer.Option("--memory-mode", help="Vela's name of the placement of data")] = "",
    tables: Annotated[Path | None, typer.Option("--tables", help="Vela's CSV files; nothing is run")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="where to write the standardized document")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the document")] = False,
) -> None:
    """Estimate a model on an Ethos-U with Vela, or read the tables of an earlier compilation. Figures are predicted."""
    from harness.cli._output import emit_json, emit_table
    from harness.core.errors import UsageError
    from harness.core.files import atomic_write
    from harness.core.strict_json import pretty
    from harness.interop.vela.run import estimate
    from harness.interop.vela.standard import standard_document
    from harness.interop.vela.tables import find_tables, read_tables
    from harness.model.load import load_model

    if out is not None and (out.exists() or not out.parent.is_dir()):
        raise UsageError(f"{out} cannot be written.", why="It exists, or its directory does not.")
    loaded = load_model(model)
    if tables is not None:
        if accelerator or system_config or memory_mode:
            raise UsageError("Tables say for what they were made.", todo="Leave out --tables, or the rest.")
        document = standard_document(read_tables(*find_tables(tables)), loaded)
    else:
        if not accelerator:
            raise UsageError("No accelerator was named.", todo="Name one, as in --accelerator ethos-u55-128.")
        found, version = estimate(model, accelerator=accelerator, system_config=system_config, memory_mode=memory_mode)
        document = standard_document(found, loaded, version=version)
    if out is not None:
        atomic_write(out, pretty(document))
    if as_json:
        emit_json(document)
        return
    target = document["target"]["configuration"]
    typer.echo(
        f"{model.name} on {document['target']['profile_name']} (predicted by Vela; {target['system_config']}, "
        f"{target['memory_mode']})\n"
    )
    performance = document["results"][0]
    names = {entity["id"]: entity for entity in performance["entities"]}
    rows = []
    for item in performance["breakdowns"]:
        entity = names[item["entity_id"]]
        figures = {metric["name"]: metric["value"] for metric in item["metrics"]}
        known = (figures.get(name, "-") for name in ("op_cycles", "macs"))
        source = ", ".join(parent.rsplit("/", 1)[-1] for parent in entity.get("parent_ids", ())) or "-"
        rows.append((source, entity["name"], entity["placement"], *known))
    emit_table(("op", "compiled to", "on", "cycles (predicted)", "MACs"), rows)
    typer.echo("")
    emit_table(
        ("metric (predicted)", "value", "unit", "reason"),
        [(m["name"], m.get("value", "-"), m["unit"], m.get("reason", "")) for m in performance["metrics"]],
    )
    for result in document["results"]:
        for check in result.get("checks", ()):
            for reason in check["details"]["reasons"]:
                typer.echo(f"{check['status']}: {check['entity_id']}: {reason['description']} {reason['detail']}")
        for text in result.get("warnings", ()):
            typer.echo(f"warning: {text}")
        for item in result.get("advice", ())[:3]:
            typer.echo(f"{item['severity']}: {item['message']}")
    if out is not None:
        typer.echo(f"\nwritten: {out}")
