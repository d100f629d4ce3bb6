# METADATA
# title: conflict
# description: |
#   may this operation stand beside those that hold leases? Each is compared by the merge policy where both name the
#   same field of the same resource, and by the matrix on their conflict domains otherwise (coordination.md
#   1, rules.md 8). A conflict is not a failure: each has a result that says what to do next.
# scope: package
package remit.conflict

import data.remit.matrix
import data.remit.merge

# METADATA
# description: what stands in the way, each lease with the strictest result of its comparisons
# scope: document
found contains object.union(_shown(lease), {"result": result}) if {
	data.remit.coordination.asked
	some lease in input.coordination.overlapping
	not lease.holder == input.subject.principal
	result := judged(lease)
	result != "compatible"
}

# METADATA
# description: why what stands in the way refuses
# scope: document
reasons contains code if {
	some conflict in found
	some code in _codes[conflict.result]
}

# What is not in the list of examples may be in the way as well (rules.md 12).
reasons contains "resource_busy" if {
	data.remit.coordination.asked
	not input.coordination.overlapping_cut == false
}

# A class that is not known here, READ_SHARED among them, lets nothing be written.
reasons contains "conflicting_operation" if unwritable

# METADATA
# description: true if the class of the resource allows no write at all
# scope: document
unwritable if {
	data.remit.coordination.writes
	input.resource.known == true
	not _writable
}

_writable if data.remit.config.concurrency[input.resource.concurrency]

# METADATA
# description: the strictest result between this operation and a lease
# scope: document
judged(lease) := "compatible" if {
	"NON_CONCURRENT" in _classes(lease)
	input.coordination.mode == "shared"
	lease.mode == "shared"
} else := "wait" if {
	"NON_CONCURRENT" in _classes(lease)
} else := "follower" if {
	"SINGLE_WRITER" in _classes(lease)
	lease.relation == "same"
} else := matrix.strictest({merge.result(part, lease) | some part in data.remit.merge.parts})

# What excludes others does so from both sides: a conflict is symmetric.
_classes(lease) := {input.resource.concurrency, object.get(lease, "concurrency", null)}

# METADATA
# description: true if a human session touches what the request writes; its own actor is not held (rules.md 10)
# scope: document
held_by(session) if {
	session.actor != input.subject.principal
	session.resource_key == input.resource.key
	_meets(session.fields)
}

_meets(fields) if fields == []

_meets(_) if input.request.fields == []

_meets(fields) if {
	some field in fields
	field in input.request.fields
}

_codes := {
	"wait": {"resource_busy"},
	"follower": {"follower"},
	"serialize": {"resource_busy", "resource_coordinated"},
	"escalate": {"conflict_unknown"},
	"reject": {"conflicting_operation"},
	"review_required": {"conflicting_operation"},
	"hold": {"conflicting_operation"},
	"ordered": {"conflicting_operation"},
	"merge_required": {"conflicting_operation"},
	"rebase": {"conflicting_operation"},
}

_shown(lease) := {name: object.get(lease, name, null) |
	some name in ["lease_id", "holder", "key", "relation", "domain", "fields"]
}
