# METADATA
# title: attenuation
# description: |
#   containment of scopes: does one cover nothing that the other does not? Decided by the two scopes alone, never over
#   the graph, so that it does not change with it (rules.md 3). Used where delegations are made.
# scope: package
package remit.attenuation

import data.remit.scope

# METADATA
# description: true if the inner scope covers nothing that the outer does not
# scope: document
contains_scope(outer, inner) if count(exceeded(outer, inner)) == 0

# METADATA
# description: the dimensions of the outer scope that the inner one leaves; a scope that covers nothing leaves none
# scope: document
exceeded(outer, inner) := set() if {
	_covers_nothing(inner)
} else := {dimension |
	some dimension, limit in outer
	not _within(dimension, limit, inner)
}

_covers_nothing(inner) if {
	some dimension in ["actions", "resources", "fields"]
	object.get(inner, dimension, null) == []
}

_covers_nothing(inner) if {
	some group in inner.resources
	group == []
}

_covers_nothing(inner) if {
	some values in inner.where
	values == []
}

_within(dimension, limit, inner) if {
	dimension in {"actions", "fields"}
	_subset(inner[dimension], limit)
}

_within("resources", limit, inner) if {
	every group in _groups(limit) {
		_narrowed(group, _groups(inner.resources))
	}
}

_within("where", limit, inner) if {
	every name, values in limit {
		_subset(object.get(inner.where, name, null), values)
	}
}

_within("conditions", limit, inner) if {
	every condition in limit {
		_implied(condition, inner.conditions)
	}
}

_subset(few, many) if {
	is_array(few)
	every each in few {
		each in many
	}
}

# A list of selectors is one group; a narrowed scope may keep several, each of which must cover.
_groups(resources) := [resources] if is_string(resources[0])

_groups(resources) := resources if is_array(resources[0])

_groups(resources) := [[]] if resources == []

# All that one of the inner groups selects lies inside the outer group.
_narrowed(outer, groups) if {
	some group in groups
	every selector in group {
		_selected(outer, selector)
	}
}

_selected(outer, selector) if {
	some each in outer
	contains_selector(each, selector)
}

# METADATA
# description: true if the outer selector covers all that the inner one stands for; whole segments, `*` for any one
# scope: document
contains_selector(outer, inner) if {
	mine := split(outer, ":")
	theirs := split(inner, ":")
	count(mine) <= count(theirs)
	count({position |
		some position, segment in mine
		segment != "*"
		segment != theirs[position]
	}) == 0
}

_implied(wanted, conditions) if wanted in conditions

_implied(wanted, conditions) if {
	some condition in conditions
	condition.attribute == wanted.attribute
	_implies(condition, wanted)
}

_implies(condition, wanted) if _subset(condition["in"], wanted["in"])

_implies(condition, wanted) if {
	scope.place(wanted.attribute, condition.at_most) <= scope.place(wanted.attribute, wanted.at_most)
}

_implies(condition, wanted) if {
	scope.place(wanted.attribute, condition.at_least) >= scope.place(wanted.attribute, wanted.at_least)
}
