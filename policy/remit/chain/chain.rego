# METADATA
# title: chain
# description: |
#   the checks that one chain passes or fails as a whole, so that authority of two chains is never added up. Each looks
#   at a chain and at what is asked, `{action, at, class, context, principal, required_trust, ...}`, never at `input`.
#   `remit.shortfall` says which of them failed.
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
# description: true if the chain alone covers the whole request; the checks stand in the order of their cost
# scope: document
holds(chain, asked) if {
	fresh(chain)
	lasting(chain, asked)
	begun(chain, asked)
	enabled(chain)
	rooted(chain, asked)
	joined(chain, asked)
	claimed(chain, asked)
	shallow(chain)
	trusted(chain, asked)
	covered(chain, asked)
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
	scope.selects(root.to, asked)
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
	last := count(chain.hops) - 1
	every membership in chain.memberships {
		[membership.edge, membership.after == last] in {["ACTS_AS", true], ["ACTS_AS", false], ["MEMBER_OF", true]}
	}
	steps := [step |
		some position, hop in chain.hops
		some step in array.concat([_step(position, hop)], _used(chain, position))
	]
	starts := [step[0] | some step in steps]
	ends := [step[1] | some step in steps]
	array.concat(starts, [asked.principal]) == array.concat([chain.root], ends)
}

# A root is held by the principal it comes from; a delegation moves it on.
_step(position, hop) := [hop.from, hop.from] if position == 0

_step(position, hop) := [hop.from, hop.to] if position > 0

_used(chain, position) := [[membership.to, membership.from] |
	some membership in chain.memberships
	membership.after == position
]

# METADATA
# description: true if the chain is one that the request named, where it named any; a claim restricts and never widens
# scope: document
claimed(chain, asked) if {
	object.get(asked.context, "on_behalf_of", chain.root) == chain.root
	every hop in chain.hops {
		hop.edge_id in object.get(asked.context, "proof", [hop.edge_id])
	}
}

# METADATA
# description: true if no end of any edge is disabled
# scope: document
enabled(chain) if {
	every edge in chain.hops {
		edge.disabled == false
	}
	every edge in chain.memberships {
		edge.disabled == false
	}
}

# METADATA
# description: true if no edge is older than the floors of realm and principals; an equal epoch is fresh
# scope: document
fresh(chain) if {
	every edge in chain.hops {
		edge.epoch >= edge.minimum_epoch
	}
	every edge in chain.memberships {
		edge.epoch >= edge.minimum_epoch
	}
}

# METADATA
# description: true if no edge has ended at the instant; the end itself is outside the window
# scope: document
lasting(chain, asked) if {
	every edge in chain.hops {
		_before(asked.at, edge.valid_until)
	}
	every edge in chain.memberships {
		_before(asked.at, edge.valid_until)
	}
}

_before(_, bound) if bound == null

_before(at, bound) if {
	is_number(bound)
	at < bound
}

# METADATA
# description: true if every edge has begun at the instant; null, an open beginning, sorts before every number
# scope: document
begun(chain, asked) if {
	every edge in chain.hops {
		edge.valid_from <= asked.at
	}
	every edge in chain.memberships {
		edge.valid_from <= asked.at
	}
}

# METADATA
# description: true if no edge has more delegations after it than its `max_depth`
# scope: document
shallow(chain) if {
	last := count(chain.hops) - 1
	every position, hop in chain.hops {
		_within_depth(last - position, hop.max_depth)
	}
}

_within_depth(_, bound) if bound == null

_within_depth(depth, bound) if {
	is_number(bound)
	depth <= bound
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
# description: true if every edge of the chain covers the request; so a child never covers more than its parent (I11)
# scope: document
covered(chain, asked) if {
	every hop in chain.hops {
		scope.covers(hop.scope, asked)
	}
}

# METADATA
# description: the edges of a chain as proofs cite them, `edge_id@version`, hops from the root first, then memberships
# scope: document
positions(chain) := [sprintf("%s@%d", [edge.edge_id, edge.version]) |
	some edge in array.concat(chain.hops, chain.memberships)
]
