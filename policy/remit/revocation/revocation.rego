# METADATA
# title: revocation
# description: |
#   may this be ended? By its maker, by everyone above it in its chain, by a root principal, and under a live MAY_REVOKE
#   edge that covers it (rules.md 5). What is ended takes along what rests on it alone; that is the ledger's business.
# scope: package
package remit.revocation

import data.remit.chain
import data.remit.scope

# METADATA
# description: true if the right to end it needs no further authority
# scope: document
inherent if input.governance.revocation.maker == true

inherent if input.governance.revocation.above == true

# METADATA
# description: why the revocation is refused
# scope: document
reasons contains "no_authority" if {
	_asked
	not input.governance.root == true
	not inherent
	count(_covering) == 0
}

_asked if input.governance.revocation != null

_covering := [edge |
	some edge in input.governance.revocation.edges
	chain.live([edge], input.request.at)
	scope.covers(edge.scope, _target)
]

_target := object.union(data.remit.authority.asked, {"keys": input.governance.revocation.keys})
