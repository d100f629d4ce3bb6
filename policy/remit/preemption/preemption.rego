# METADATA
# title: preemption
# description: |
#   may this operation take over from those that hold leases? A live MAY_PREEMPT edge covers each holder, the governed
#   priority is strictly higher than each of theirs, and no cooldown applies (coordination.md 4). Being human is no
#   priority.
# scope: package
package remit.preemption

import data.remit.chain
import data.remit.scope

# METADATA
# description: leases in the way that could be taken
# scope: document
contested contains lease if {
	some obstacle in data.remit.conflict.found
	obstacle.result in _takeable
	some lease in input.coordination.overlapping
	lease.lease_id == obstacle.lease_id
}

# METADATA
# description: true if this operation may take over from all that stand in its way; from all or from none (rules.md 10)
# scope: document
allowed if {
	count(contested) > 0
	every obstacle in data.remit.conflict.found {
		obstacle.result in _takeable
	}
	input.coordination.overlapping_cut == false
	count(_reluctances) == 0
}

_takeable := {"serialize", "wait", "follower"}

# METADATA
# description: why a takeover that was asked for is refused
# scope: document
reasons contains code if {
	input.request.context.preempt == true
	count(contested) > 0
	some code in _reluctances
}

_reluctances contains "preemption_not_authorized" if {
	some lease in contested
	not _yields(lease)
}

_reluctances contains "priority_not_higher" if {
	some lease in contested
	not _outranks(lease)
}

_reluctances contains "preemption_cooldown" if {
	not _rested
}

_outranks(lease) if input.coordination.priority > lease.priority

# No cooldown, null, sorts before every instant.
_rested if object.get(input.coordination, "cooldown_until", null) <= input.request.at

_yields(lease) if {
	some edge in lease.preempt_edges
	chain.live([edge], input.request.at)
	scope.covers(edge.scope, _held(lease))
}

# Where the facts hold no edges, they say themselves whether one covers the holder.
_yields(lease) if {
	not lease.preempt_edges
	lease.preemptible == true
}

# The scope of the edge is compared with the key that is held and with the action of the request (rules.md 10).
_held(lease) := object.union(data.remit.authority.asked, {
	"keys": object.get(lease, "ancestors", data.remit.authority.asked.keys),
	"fields": lease.fields,
})
