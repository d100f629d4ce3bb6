# METADATA
# title: delegation
# description: |
#   may this delegation be made? It rests on a ground: a right to hand on, and authority to hand on, both live, both
#   containing its scope and window, both deeper (model.md 5). A delegate that production may not rely on is not given
#   it.
# scope: package
package remit.delegation

import data.remit.attenuation
import data.remit.chain
import data.remit.trust

# METADATA
# description: why the delegation is refused
# scope: document
reasons contains "no_authority" if {
	_asked
	not _speaks
}

reasons contains "no_authority" if {
	_asked
	_proposed.grounds == []
}

reasons contains "delegation_cycle" if {
	_asked
	not _proposed.cycle == false
}

reasons contains chain.end_of(_edges(ground), input.request.at) if {
	count(_live) == 0
	some ground in _proposed.grounds
}

reasons contains "attenuation_violated" if {
	count(_live) > 0
	count(_containing) == 0
}

reasons contains "depth_exceeded" if {
	count(_containing) > 0
	count([ground | some ground in _containing; _deeper(ground)]) == 0
}

reasons contains "trust_too_low" if {
	trust.too_low(_proposed.trust, _proposed.classes, _proposed.scope)
}

_proposed := input.governance.delegation

_asked if _proposed != null

_speaks if _proposed.speaks == true

_live := [ground | some ground in _proposed.grounds; chain.live(_edges(ground), input.request.at)]

_containing := [ground |
	some ground in _live
	every edge in _edges(ground) {
		attenuation.contains_scope(edge.scope, _meant(edge))
		_within_window(edge)
	}
]

_edges(ground) := [ground.right, ground.authority]

# What a delegation leaves open is filled in from its right, and below a root grant it means what the grant allows: its
# maker may hold several.
_meant(edge) := _proposed.scope if edge.edge in {"DELEGATES", "MAY_DELEGATE"}

_meant(edge) := object.union(object.union(edge.scope, _proposed.scope), {"conditions": conditions}) if {
	not edge.edge in {"DELEGATES", "MAY_DELEGATE"}
	own := object.get(_proposed.scope, "conditions", [])
	named := {condition.attribute | some condition in own}
	conditions := array.concat(own, [condition |
		some condition in object.get(edge.scope, "conditions", [])
		not condition.attribute in named
	])
}

_within_window(edge) if {
	edge.valid_from <= _proposed.valid_from
	true in [edge.valid_until == null, _ends_by(edge.valid_until)]
}

_ends_by(bound) := _proposed.valid_until <= bound if _proposed.valid_until != null

_ends_by(_) := false if _proposed.valid_until == null

_deeper(ground) if {
	every edge in _edges(ground) {
		true in [edge.max_depth == null, _proposed.max_depth < edge.max_depth]
	}
}
