# METADATA
# title: merge
# description: |
#   how one part of this operation stands to one lease of another. Strategy follows from the declared merge policies
#   and the matrix, never from a guess: a field without policy is refused (S91).
# scope: package
package remit.merge

import data.remit.matrix

# METADATA
# description: the parts of the operation, one for each field; the whole resource is one part with all its domains
# scope: document
parts contains {
	"field": field,
	"domains": _domains_of(declared),
	"merge": object.get(declared, "merge", null),
	"independent": object.get(declared, "independent", false),
} if {
	some field in input.request.fields
	declared := object.get(input.resource.type_fields, field, {})
}

parts contains {"field": null, "domains": _all_domains, "merge": null, "independent": false} if {
	input.request.fields == []
}

# METADATA
# description: the result between a part and a lease on the same or another resource
# scope: document
result(part, lease) := _same_field(part, lease) if {
	lease.relation == "same"
	part.field in lease.fields
} else := "compatible" if {
	lease.relation == "same"
	_apart(part, lease)
} else := _at_least("serialize", part, lease) if {
	lease.relation == "same"
	not _separate(part, lease)
} else := by_matrix(part, lease)

# METADATA
# description: the strictest cell between the domains of a part and the domain of a lease; an unmapped one escalates
# scope: document
by_matrix(part, lease) := matrix.strictest({cell |
	some domain in object.get(lease, "request_domains", part.domains)
	cell := _cell(domain, lease.domain)
})

# METADATA
# description: true if the operation is the next of its line and what it depends on is done
# scope: document
next_in_sequence if {
	input.coordination.sequence.number == input.coordination.sequence.next
	input.coordination.sequence.depends_met == true
}

# What comes next in its line is not rejected, it waits for its turn.
_cell(mine, theirs) := "serialize" if {
	next_in_sequence
	mine in data.remit.conflict.sequenced
	matrix.cell(mine, theirs) == "reject"
} else := matrix.cell(mine, theirs)

_same_field(part, lease) := "compatible" if {
	part.merge == "set_merge"
	_commute(input.request.context.set_operations, lease.set_operations)
} else := "merge_required" if {
	part.merge == "set_merge"
} else := "reject" if {
	part.merge == null
	not _always_locks
} else := _at_least("serialize", part, lease)

_always_locks if "lease" in data.remit.config.concurrency[input.resource.concurrency]

# Adding and removing commute unless one adds what the other removes, whichever comes first. An operation that does not
# say what it adds and removes replaces the set, and commutes with nothing.
_commute(mine, theirs) if {
	is_object(mine)
	is_object(theirs)
	_members(mine, "add") & _members(theirs, "remove") == set()
	_members(mine, "remove") & _members(theirs, "add") == set()
}

_members(operations, name) := {member | some member in object.get(operations, name, [])}

# Declared independent on both sides: then only what is semantic between two domains is left.
_separate(part, lease) if {
	part.independent == true
	lease.fields != []
	every field in lease.fields {
		_independent(field)
	}
}

_independent(field) if input.resource.type_fields[field].independent == true

_apart(part, lease) if {
	_separate(part, lease)
	part.domains == {lease.domain}
}

_apart(part, lease) if {
	_separate(part, lease)
	part.merge in {"field_versioned", "set_merge"}
	lease.merge in {"field_versioned", "set_merge"}
}

_at_least(floor, part, lease) := matrix.strictest({floor, by_matrix(part, lease)})

_domains_of(declared) := {declared.domain} if {
	declared.domain != null
} else := _declared_by_action

_all_domains := {declared.domain |
	some declared in input.resource.type_fields
	declared.domain != null
} | _declared_by_action

_declared_by_action := {domain | some domain in [input.action.domain]; domain != null}
