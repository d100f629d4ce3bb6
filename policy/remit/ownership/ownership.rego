# METADATA
# title: ownership
# description: |
#   who governs the fields that are touched, and does the chain rest on that owner? Asked of writes and
#   reconciliations, and of the reads that policy data names (rules.md 6). It gives nothing: it can only refuse.
# scope: package
package remit.ownership

# METADATA
# description: true if the question is asked of this request
# scope: document
asked if input.action.class in {"write", "reconcile"}

asked if {
	input.action.class == "read"
	input.resource.type in data.remit.config.ownership_for_reads
}

# METADATA
# description: the rows of the managed fields that are touched; none where the question is not asked
# scope: document
default governed := []

governed := [row | some row in input.resource.ownership; row.managed == true] if asked

# METADATA
# description: |
#   true if the root of a chain rests on the current owner of every governed field; one without is refused below
# scope: document
compatible(root) if {
	every row in governed {
		rests(root, row)
	}
}

# METADATA
# description: true if a root is the current owner's OWNS edge, or a grant stamped with it (rules.md 4)
# scope: document
rests(_, row) if row.owner == null

rests(root, row) if {
	root.edge == "OWNS"
	root.edge_id == row.edge_id
	root.ownership_epoch == row.ownership_epoch
}

rests(root, row) if {
	root.edge != "OWNS"
	{"edge_id": row.edge_id, "ownership_epoch": row.ownership_epoch} in root.rests_on
}

# METADATA
# description: why ownership refuses
# scope: document
reasons contains "ownership_unresolved" if {
	some row in governed
	row.owner == null
}

# I06: a managed field about which nothing is known is not written.
reasons contains "ownership_unresolved" if {
	asked
	some field in input.request.fields
	input.resource.type_fields[field].managed == true
	not field in _charted
}

reasons contains "ownership_unresolved" if {
	input.request.fields == []
	asked
	some field, declared in input.resource.type_fields
	declared.managed == true
	not field in _charted
}

reasons contains "ownership_conflict" if {
	some row in governed
	count(row.owners) > 1
}

reasons contains "owner_frozen" if {
	some row in governed
	not row.frozen == false
	not _finishing
}

# A caller that names the epoch it planned under is refused once that is older than the current one.
reasons contains "stale_ownership_epoch" if {
	input.request.context.ownership_epoch
	some row in governed
	row.owner != null
	not _as_fresh(input.request.context.ownership_epoch, row)
}

_charted := {row.field | some row in input.resource.ownership}

# What holds a lease from before the freeze may finish until the deadline; it may not begin or renew (rules.md 4).
_finishing if {
	input.coordination.presented.state == "current"
	input.request.at < input.coordination.transfer.freeze_deadline
	not _entering
}

_entering if input.coordination.phase in {"begin", "renew"}

_as_fresh(presented, row) if {
	is_number(presented)
	presented >= row.ownership_epoch
}

# METADATA
# description: |
#   why a root does not rest on the owner of a row. A root seen from afar, of a near miss, may lack what is compared
#   here: then nothing is held against it
# scope: document
objections(root, row) := {code | some code, true in _objection(root, row)} if {
	row.owner != null
	not rests(root, row)
}

_objection(root, row) := {
	"not_owner": root.from != row.owner,
	"stale_ownership_epoch": object.get(root, "ownership_epoch", row.ownership_epoch) != row.ownership_epoch,
} if root.edge == "OWNS"

# A grant under an owner that had this field is of an older owner; under one that never had it, of another.
_objection(root, row) := {"stale_ownership_epoch": true} if {
	root.edge != "OWNS"
	_stamped(root, row)
} else := {"not_owner": true} if {
	root.edge != "OWNS"
	root.rests_on
}

_stamped(root, row) if row.field in root.stamped_fields

# Where nobody says which fields the owners had, any stamp may have been for this one.
_stamped(root, _) if {
	not root.stamped_fields
	count(object.get(root, "rests_on", [])) > 0
}
