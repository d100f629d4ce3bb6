package remit.case

# METADATA
# entrypoint: true
yes := true

# METADATA
# entrypoint: true
text := "permit"

# METADATA
# entrypoint: true
empty_object := {}

# METADATA
# entrypoint: true
empty_list := []

# METADATA
# entrypoint: true
nothing := null

# METADATA
# entrypoint: true
effect_null := object.union(_permit, {"effect": null})

# METADATA
# entrypoint: true
effect_upper := object.union(_permit, {"effect": "PERMIT"})

# METADATA
# entrypoint: true
no_outcome := object.remove(_permit, {"outcome"})

# METADATA
# entrypoint: true
unknown_reason := object.union(_permit, {"effect": "deny", "outcome": "deny", "reasons": ["because"]})

# METADATA
# entrypoint: true
permit := _permit

# METADATA
# entrypoint: true
undefined if input.absent

# METADATA
# entrypoint: true
failing := 1 / input.zero

# METADATA
# entrypoint: true
two_values := 1 if input.zero == 0

two_values := 2 if not input.absent

# METADATA
# entrypoint: true
echo := {"input": input, "set": {"b", "a"}, "integer": 9007199254740993, "revision": _revision}

_revision := data.remit.revision.policy_revision

_permit := {
	"effect": "permit",
	"outcome": "execute",
	"reasons": [],
	"determining": ["g-1@1"],
	"conflicts": [],
	"obligations": [{"id": "o", "type": "restrict_fields", "properties": {"fields": ["canonical"]}}],
	"policy_revision": _revision,
}
