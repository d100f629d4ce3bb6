# METADATA
# title: proof
# description: |
#   the one chain a permit rests on: it alone covers the request, is compatible with every owner, and is the chain of a
#   presented capability (rules.md 3). Of several the first counts; the candidates come in a fixed order.
# scope: package
package remit.proof

import data.remit.capability
import data.remit.chain
import data.remit.ownership

# METADATA
# description: the first candidate that fits in every respect; undefined if none does
# scope: document
fitting := input.chains[0] if {
	chain.holds(input.chains[0], data.remit.authority.asked)
	ownership.compatible(input.chains[0].hops[0])
	capability.agrees(input.chains[0])
} else := _fitting[0]

# The others are looked at only where the first does not fit: neither engine leaves a loop early.
_fitting := [candidate | some candidate in data.remit.shortfall.resting; capability.agrees(candidate)]

# METADATA
# description: true if there is such a chain
# scope: document
found if fitting.chain_id

# METADATA
# description: its edges with their versions, hops from the root first, then memberships
# scope: document
default determining := []

determining := chain.positions(fitting)
