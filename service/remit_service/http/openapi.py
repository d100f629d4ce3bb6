"""The OpenAPI document: what FastAPI knows of its routes, the hot routes, and the schemas they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.openapi.utils import get_openapi

from remit_service.http.documented import answers, body, schemas
from remit_service.version import program_version

if TYPE_CHECKING:
    from fastapi import FastAPI

ASKED = (400, 401, 403, 413, 429, 503)
"""Problems that a call with a body may end with."""


def openapi_document(api: FastAPI, public_url: str) -> dict[str, Any]:
    """Return the whole document."""
    document = get_openapi(
        title="Remit",
        version=program_version(),
        summary="Who may act, and who may act now.",
        routes=api.routes,
        servers=[{"url": public_url}],
    )
    document["paths"] = {**_hot_paths(), **document["paths"]}
    components = document.setdefault("components", {})
    # What FastAPI says about its own validation is not what is sent: problems are.
    components["schemas"] = schemas()
    components["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer", "description": "An API key, or a token of a configured issuer."}
    }
    for path in document["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
            operation.setdefault("security", [{"bearer": []}, {}])
            operation.setdefault("parameters", []).append(_REQUEST_ID)
    return document


_REQUEST_ID = {
    "name": "X-Request-ID",
    "in": "header",
    "required": False,
    "description": "Any text; echoed unchanged, and part of the record.",
    "schema": {"type": "string"},
}


def _hot_paths() -> dict[str, Any]:
    return {
        "/access/v1/evaluation": _operation(
            "Access Evaluation (AuthZEN 1.0): one question.", "EvaluationRequest", "Decision", "evaluation"
        ),
        "/access/v1/evaluations": _operation(
            "Access Evaluations (AuthZEN 1.0): a batch; without items it is one question.",
            "EvaluationsRequest",
            "EvaluationsAnswer",
            "evaluations",
        ),
    }


def _operation(summary: str, asked: str, answered: str, name: str) -> dict[str, Any]:
    responses = {str(status): each for status, each in answers(answered, problems=ASKED).items()}
    operation = {"tags": ["authzen"], "summary": summary, "operationId": name, "responses": responses}
    return {"post": operation | body(asked)}
