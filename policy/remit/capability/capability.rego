# METADATA
# title: capability
# description: |
#   is the capability that is presented valid, of this request and of the chain, and is one needed? A begun operation
#   is a capability: it is presented by its coordination id (rules.md 6).
# scope: package
package remit.capability

import data.remit.chain
import data.remit.demand

# METADATA
# description: true if the question is asked of this request; reads and approvals bring no capability
# scope: document
asked if input.action.class in {"write", "reconcile"}

# METADATA
# description: true if the chain is the one the capability was made for, or none is presented
# scope: document
agrees(_) if input.capability == null

agrees(_) if not asked

agrees(candidate) if input.capability.chain in [[hop.edge_id | some hop in candidate.hops], chain.positions(candidate)]

# METADATA
# description: why the capability refuses
# scope: document
reasons contains "capability_required" if {
	input.capability == null
	not _beginning
	some environment in data.remit.demand.environments
	level := data.remit.config.capability_required[input.action.class][environment]
	demand.reaches(level)
}

reasons contains input.capability.code if {
	asked
	input.capability != null
	not input.capability.valid == true
	input.capability.code != null
}

reasons contains "capability_mismatch" if {
	asked
	input.capability != null
	not input.capability.valid == true
	input.capability.code == null
}

reasons contains "capability_mismatch" if {
	asked
	input.capability != null
	not input.capability.matches == true
}

# Beginning an operation is what mints the coordination id.
_beginning if input.coordination.phase == "begin"
