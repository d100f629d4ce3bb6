# METADATA
# title: obligation
# description: |
#   what a permit demands of the enforcement point, which refuses what it does not know (S123). The site may add to it.
# scope: package
package remit.obligation

# METADATA
# description: the obligations of a permit, each `{id, type, properties}`
# scope: document
required contains {
	"id": "restrict_fields",
	"type": "restrict_fields",
	"properties": {"fields": input.request.fields},
} if {
	input.request.fields != []
}

# Checked atomically at the resource, since the state can change after the answer.
required contains {
	"id": "precondition",
	"type": "precondition",
	"properties": {"expected_version": data.remit.version.expected},
} if {
	data.remit.coordination.writes
	data.remit.version.expected != null
}

required contains {"id": "record", "type": "record", "properties": {"before": true}} if {
	input.action.record_required == true
}

required contains {"id": "record", "type": "record", "properties": {"before": true}} if {
	input.action.class in data.remit.config.record_required
}

# A break-glass grant always carries the duty to look at its use afterwards (rules.md 5).
required contains {"id": "review", "type": "review", "properties": {"edge_ids": used}} if {
	used := [hop.edge_id | some hop in data.remit.proof.fitting.hops; hop.break_glass == true]
	used != []
}

required contains duty if some duty in data.remit.site.obligations
