"""`remit incident`: open and close incidents, and list them."""

from __future__ import annotations

from typing import Annotated

import typer

from remit_service.cli.asking import ResourceKey
from remit_service.cli.coordination import Actor, perform

app = typer.Typer(no_args_is_help=True)
IncidentId = Annotated[str, typer.Argument(help="Id of the incident.")]
Severity = Annotated[str, typer.Option(help="SEV1 to SEV4.")]


@app.command("open")
def open_(
    context: typer.Context, incident_id: IncidentId, resource: ResourceKey, severity: Severity, actor: Actor = None
) -> None:
    """Open an incident, or change its severity, by one who may DECLARE_INCIDENT on the resource."""
    perform(context, "POST /v1/incidents", _body(incident_id, resource, severity, actor) | {"status": "OPEN"})


@app.command()
def close(
    context: typer.Context, incident_id: IncidentId, resource: ResourceKey, severity: Severity, actor: Actor = None
) -> None:
    """Close an incident; it carries no priority and no takeover from then on."""
    perform(context, "POST /v1/incidents", _body(incident_id, resource, severity, actor) | {"status": "CLOSED"})


@app.command("list")
def list_(context: typer.Context) -> None:
    """The incidents at hand, the closed ones too."""
    perform(context, "GET /v1/incidents")


def _body(incident_id: str, resource: str, severity: str, actor: str | None) -> dict[str, object]:
    entity = {"type": "key", "id": resource}
    return {"incident_id": incident_id, "severity": severity, "resource": entity, "actor": actor}
