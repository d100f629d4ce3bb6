# METADATA
# title: chain
# description: |
#   the checks that one chain passes or fails as a whole, so that authority of two chains is never added up. Each
#   looks at a chain and at what is asked, `{action, at, class, context, principal, required_trust, ...}`, never at
#   `input`. `remit.shortfall` says which of them failed.
# scope: package
package remit.chain

import data.remit.scope

# METADATA
# description: the action classes that each kind of root conveys
# scope: rule
conveys := {
	"OWNS": {"read", "write", "approve", "reconcile"},
	"MAY_READ": {"read"},
	"MAY_WRITE": {"write"},
	"MAY_APPROVE": {"approve"},
	"MAY_RECONCILE": {"reconcile"},
}

# METADATA
# description: |
#   true if the chain alone covers the whole request: all checks below, those of each hop in one walk. Asked of the first
#   candidate of every request, so it says nothing of why it fails; a test holds it equal to the checks one by one
# scope: document
holds(chain, asked) if {
	root := chain.hops[0]
	asked.class in conveys[root.edge]
	root.issuer_standing in {"root", "owner"}
	every selector in root.except {
		not scope.selects(selector, asked)
	}
	last := count(chain.hops) - 1
	every position, hop in chain.hops {
		hop.disabled == false
		hop.epoch >= hop.minimum_epoch
		hop.valid_from <= asked.at
		true in [hop.valid_until == null, asked.at < hop.valid_until]
		true in [hop.max_depth == null, (last - position) <= hop.max_depth]
	}
	every hop in array.slice(chain.hops, 1, last + 1) {
		hop.edge == "DELEGATES"
		hop.trust >= asked.required_trust
	}
	live(chain.memberships, asked.at)
	joined(chain, asked)
	claimed(chain, asked)
	covered(chain, asked)
}

# METADATA
# description: true if every edge is enabled, fresh and within its window; the four checks below in one walk
# scope: document
live(edges, at) if {
	every edge in edges {
		edge.disabled == false
		edge.epoch >= edge.minimum_epoch
		edge.valid_from <= at
		true in [edge.valid_until == null, at < edge.valid_until]
	}
}

# METADATA
# description: |
#   true if the first edge is a root of the action's class over the resource, issued by someone who could, and every
#   later edge is a delegation
# scope: document
rooted(chain, asked) if {
	root := chain.hops[0]
	asked.class in conveys[root.edge]
	root.issuer_standing in {"root", "owner"}
	every selector in root.except {
		not scope.selects(selector, asked)
	}
	every hop in array.slice(chain.hops, 1, count(chain.hops)) {
		hop.edge == "DELEGATES"
	}
}

# METADATA
# description: |
#   true if each edge begins where the one before ended, from the root to the subject. Authority handed on is held by
#   delegation or acted for; MEMBER_OF lets one use it only, so it comes after the last delegation (rules.md 3)
# scope: document
joined(chain, asked) if {
	# Mostly memberships come after the last delegation only.
	last := count(chain.hops) - 1
	every membership in chain.memberships {
		membership.after == last
		membership.edge in {"ACTS_AS", "MEMBER_OF"}
	}
	starts := array.concat([hop.from | some hop in chain.hops], [used.to | some used in chain.memberships])
	ends := array.concat(
		[hop.to | some position, hop in chain.hops; position > 0],
		[used.from | some used in chain.memberships],
	)

	# The root is held by the principal it comes from; its own end is a resource.
	array.concat(starts, [asked.principal]) == array.concat([chain.root, chain.root], ends)
} else if {
	last := count(chain.hops) - 1
	every membership in chain.memberships {
		[membership.edge, membership.after == last] in _usable
	}
	steps := [step |
		some position, hop in chain.hops
		some step in array.concat([[hop.from, hop.to]], [[used.to, used.from] |
			some used in chain.memberships
			used.after == position
		])
	]
	starts := [step[0] | some step in steps]
	ends := [step[1] | some position, step in steps; position > 0]
	array.concat(starts, [asked.principal]) == array.concat([chain.root, chain.root], ends)
}

_usable := {["ACTS_AS", true], ["ACTS_AS", false], ["MEMBER_OF", true]}

# METADATA
# description: true if the chain is one that the request named, where it named any; a claim restricts and never widens
# scope: document
claimed(chain, asked) if {
	object.get(asked.context, "on_behalf_of", chain.root) == chain.root
	_proved(chain, asked.context)
}

_proved(_, context) if not "proof" in object.keys(context)

_proved(chain, context) if {
	every hop in chain.hops {
		hop.edge_id in context.proof
	}
}

# METADATA
# description: true if no end of any edge is disabled
# scope: document
enabled(edges) if {
	every edge in edges {
		edge.disabled == false
	}
}

# METADATA
# description: true if no edge is older than the floors of realm and principals; an equal epoch is fresh
# scope: document
fresh(edges) if {
	every edge in edges {
		edge.epoch >= edge.minimum_epoch
	}
}

# METADATA
# description: true if no edge has ended at the instant; the end itself is outside the window, null is no end
# scope: document
lasting(edges, at) if {
	every edge in edges {
		true in [edge.valid_until == null, at < edge.valid_until]
	}
}

# METADATA
# description: true if every edge has begun at the instant; null, an open beginning, sorts before every number
# scope: document
begun(edges, at) if {
	every edge in edges {
		edge.valid_from <= at
	}
}

# METADATA
# description: why edges that are not live are not; the first of the checks that fails
# scope: document
end_of(edges, at) := "delegation_revoked" if {
	not enabled(edges)
} else := "stale_authority_epoch" if {
	not fresh(edges)
} else := "delegation_expired" if {
	not lasting(edges, at)
} else := "delegation_not_yet_valid"

# METADATA
# description: true if no edge has more delegations after it than its `max_depth`
# scope: document
shallow(chain) if {
	last := count(chain.hops) - 1
	every position, hop in chain.hops {
		true in [hop.max_depth == null, (last - position) <= hop.max_depth]
	}
}

# METADATA
# description: true if every delegate on the chain has the required trust
# scope: document
trusted(chain, asked) if {
	every hop in array.slice(chain.hops, 1, count(chain.hops)) {
		hop.trust >= asked.required_trust
	}
}

# METADATA
# description: |
#   true if every edge of the chain, the end of its root among them, covers the request; so that a child never covers
#   more than its parent (I11)
# scope: document
covered(chain, asked) if {
	every limit in limits(chain) {
		scope.within(limit[0], limit[1], asked)
	}
}

# METADATA
# description: |
#   what the edges of a chain limit, each a pair of dimension and limit. Filled in from their parents, scopes repeat
#   each other, and each limit is here once
# scope: document
limits(chain) := {["resources", [chain.hops[0].to]]} | {[dimension, limit] |
	some hop in chain.hops
	some dimension, limit in hop.scope
}

# METADATA
# description: the edges of a chain as proofs cite them, `edge_id@version`, hops from the root first, then memberships
# scope: document
positions(chain) := [position |
	some edge in array.concat(chain.hops, chain.memberships)
	position := sprintf("%v@%v", [edge.edge_id, edge.version])
	is_string(position)
]
