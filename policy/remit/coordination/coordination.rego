# METADATA
# title: coordination
# description: |
#   who may act at this moment? What the class of concurrency demands, whether the lease that is presented is current,
#   and the fence. A lease gives no authority, and authority gives no lease. Whether two operations may stand side by
#   side is `remit.conflict`'s, whether one may take over `remit.preemption`'s.
# scope: package
package remit.coordination

import data.remit.conflict

# METADATA
# description: true if the request changes state
# scope: document
writes if input.action.class in {"write", "reconcile"}

# METADATA
# description: true if the question is asked of this request; of reads only where writes exclude them (rules.md 6)
# scope: document
asked if writes

asked if {
	input.action.class == "read"
	input.resource.concurrency == "NON_CONCURRENT"
}

# METADATA
# description: what the request must bring, of `lease` and `version`
# scope: document
demands contains demand if {
	writes
	some demand in data.remit.config.concurrency[input.resource.concurrency]
}

demands contains "lease" if {
	asked
	not writes
}

# An impact that is a coordination key of its own cannot be guarded by the version of the resource (S50).
demands contains "lease" if {
	writes
	not input.resource.escalated == false
}

# Of a resource that many may write, each field says for itself what its merge policy needs.
demands contains "version" if {
	writes
	input.resource.concurrency == "MULTI_WRITER_MERGEABLE"
	not _mergeable
}

_mergeable if {
	input.request.fields != []
	every field in input.request.fields {
		_merges_as_set(field)
	}
}

_merges_as_set(field) if input.resource.type_fields[field].merge == "set_merge"

# METADATA
# description: why coordination refuses
# scope: document
reasons contains "lease_required" if {
	"lease" in demands
	input.coordination.presented == null
}

# I08 and S23: a lease that reads share does not carry a write.
reasons contains "lease_required" if {
	writes
	input.coordination.presented.mode == "shared"
}

reasons contains code if {
	asked
	input.coordination.presented.state != "current"
	code := object.get(_lapsed, input.coordination.presented.state, "lease_not_held")
}

reasons contains input.coordination.presented.code if {
	asked
	input.coordination.presented.state != "current"
	input.coordination.presented.code != null
}

# I09: whoever lost control since, however that came about, is behind the fence.
reasons contains "stale_fencing_token" if {
	asked
	input.coordination.presented.fencing_token < input.coordination.presented.current_token
}

reasons contains "human_presence" if {
	writes
	some session in input.coordination.presence
	conflict.held_by(session)
}

reasons contains "sequence_violated" if {
	writes
	input.coordination.sequence != null
	not data.remit.merge.next_in_sequence
}

_lapsed := {"expired": "lease_expired", "revoked": "lease_revoked", "stale": "stale_fencing_token"}
