# METADATA
# title: shortfall
# description: |
#   why no chain fits: the questions that need one are answered here, and only when there is none. Each chain fails with
#   its first failing check; of several the one that came furthest speaks (vectors/README, 'Chains').
# scope: package
package remit.shortfall

import data.remit.chain
import data.remit.ownership
import data.remit.scope

# METADATA
# description: candidates that have the authority, whatever else they lack
# scope: rule
holding := [candidate |
	some position, candidate in input.chains
	_verdicts[position].rank == _none
]

# Each candidate is judged once, and each limit that several share: an engine may stop a policy that computes for long.
_verdicts := [verdict(candidate, _limits[position] & _uncovered, data.remit.authority.asked) |
	some position, candidate in input.chains
]

_limits := [chain.limits(candidate) | some candidate in input.chains]

_uncovered contains limit if {
	some limit in {each | some limits in _limits; some each in limits}
	not scope.within(limit[0], limit[1], data.remit.authority.asked)
}

# METADATA
# description: those of them that rest on the owners, too
# scope: rule
resting := [candidate | some candidate in holding; ownership.compatible(candidate.hops[0])]

# METADATA
# description: what is lacking for one single chain to fit; never empty where none does
# scope: document
reasons contains code if {
	not data.remit.proof.found
	some code in lacking
}

reasons contains "no_authority" if {
	not data.remit.proof.found
	count(lacking) == 0
}

# METADATA
# description: the codes of authority, of ownership and of capability
# scope: document
lacking contains code if {
	count(holding) == 0
	some code in _authority
}

# None of the candidates fits, and there would have been more to look at.
lacking contains "proof_search_truncated" if {
	count(input.chains) > 0
	input.search.truncated == true
}

lacking contains code if {
	count(resting) == 0
	every root in _roots {
		count(_objections(root)) > 0
	}
	some root in _roots
	some code in _objections(root)
}

lacking contains "capability_mismatch" if count(resting) > 0

_objections(root) := {code |
	some row in data.remit.ownership.governed
	some code in ownership.objections(root, row)
}

_roots := [candidate.hops[0] | some candidate in holding] if count(holding) > 0

else := [candidate.hops[0] | some candidate in input.chains] if count(input.chains) > 0

else := [near.hops[0] | some near in input.near_misses]

# The codes of those that came furthest.
_authority := {failure.reason | some failure in _failures; failure.rank == _furthest} if count(_failures) > 0

else := {"proof_search_truncated"} if input.search.truncated == true

else := {"depth_exceeded"} if input.search.depth_bound_hit == true

else := {"no_authority"}

_furthest := max([failure.rank | some failure in _failures])

_failures := array.concat(_failing, [near | some near in input.near_misses; is_number(near.rank)])

_failing := [failure | some failure in _verdicts; failure.rank < _none]

# Behind all checks.
_none := 12

# METADATA
# description: the first check a chain fails, with its place in the order of checks; the places are those of the search
# scope: document
verdict(candidate, exceeded, asked) := {"rank": -1, "reason": "no_authority"} if {
	not _rooted(candidate, asked)
} else := {"rank": 0, "reason": "principal_mismatch"} if {
	not _shown(candidate, asked)
} else := _ended(array.concat(candidate.hops, candidate.memberships), asked.at) if {
	not _live(candidate, asked)
} else := {"rank": 6, "reason": "depth_exceeded"} if {
	not chain.shallow(candidate)
} else := _narrow(candidate, asked) if {
	count(exceeded) > 0
} else := {"rank": 11, "reason": "trust_too_low"} if {
	not chain.trusted(candidate, asked)
} else := {"rank": _none, "reason": ""}

_ended(edges, at) := {"rank": _ends[code], "reason": code} if {
	code := chain.end_of(edges, at)
}

_ends := {"delegation_revoked": 2, "stale_authority_epoch": 3, "delegation_expired": 4, "delegation_not_yet_valid": 5}

_narrow(candidate, asked) := {"rank": 7, "reason": "attenuation_violated"} if {
	_widened(candidate, asked)
} else := {"rank": 8, "reason": "scope_not_covered"} if {
	not _named(candidate, asked)
} else := {"rank": 9, "reason": "condition_unknown"} if {
	not _understood(candidate, asked)
} else := {"rank": 10, "reason": "condition_not_met"}

_live(candidate, asked) if {
	chain.live(candidate.hops, asked.at)
	chain.live(candidate.memberships, asked.at)
}

_rooted(candidate, asked) if {
	chain.rooted(candidate, asked)
	scope.selects(candidate.hops[0].to, asked)
}

_shown(candidate, asked) if {
	chain.joined(candidate, asked)
	chain.claimed(candidate, asked)
}

# The last edge that names a dimension covers the request there, and one before it does not: the later claims too much.
_widened(candidate, asked) if {
	some dimension in {"actions", "resources", "fields"}
	limits := [limit |
		some hop in candidate.hops
		some name, limit in hop.scope
		name == dimension
	]
	_claims_more(limits, dimension, asked)
}

_widened(candidate, asked) if {
	some dimension, _ in asked.place
	limits := [{name: values} |
		some hop in candidate.hops
		some name, values in hop.scope.where
		name == dimension
	]
	_claims_more(limits, "where", asked)
}

_claims_more(limits, dimension, asked) if {
	count(limits) > 1
	scope.within(dimension, limits[count(limits) - 1], asked)
	some limit in limits
	not scope.within(dimension, limit, asked)
}

_named(candidate, asked) if {
	every hop in candidate.hops {
		scope.covers(object.remove(hop.scope, _unnamed(hop.scope)), asked)
		every dimension, values in object.get(hop.scope, "where", {}) {
			_placed(dimension, values, asked)
		}
	}
}

_unnamed(limits) := object.keys(limits) - {"actions", "resources", "fields"}

# A dimension the world does not declare is not understood, which is the next check's business.
_placed(dimension, values, asked) if asked.place[dimension] in values

_placed(dimension, _, asked) if not asked.dimensions[dimension]

_understood(candidate, asked) if {
	every hop in candidate.hops {
		scope.understood(hop.scope, asked)
	}
}
