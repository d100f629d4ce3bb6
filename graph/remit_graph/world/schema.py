"""The JSON Schema of world files, for editors: made from the same grammar that the loader reads by."""

from __future__ import annotations

import json
from typing import Any, Final

from remit_graph.world.grammar import SECTIONS

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def world_schema() -> dict[str, Any]:
    """Return the schema; what it accepts the loader may still refuse, as most laws are about more than one line."""
    sections = {
        name: section.shape.schema() | {"description": section.description} for name, section in SECTIONS.items()
    }
    return {
        "$schema": DIALECT,
        "title": "A Remit world",
        "description": "Everything a realm declares: types, actions, principals, resources, owners, grants.",
        "type": "object",
        "properties": sections,
        "required": ["realm"],
        "additionalProperties": False,
    }


def schema_text() -> str:
    """Return the schema as the text of the published file, `world.schema.json` beside this module."""
    return json.dumps(world_schema(), indent=1, ensure_ascii=False) + "\n"
