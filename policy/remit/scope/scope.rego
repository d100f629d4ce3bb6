# METADATA
# title: scope
# description: |
#   what a scope covers, dimension by dimension. `asked` holds what a request touches:
#   `{action, fields, keys, place, attributes, incidents}`; nothing here reads `input`.
#   A dimension that is absent does not narrow, an empty list covers nothing, and a dimension without a rule below
#   covers nothing either.
# scope: package
package remit.scope

# METADATA
# description: true if every dimension of the scope covers what is asked
# scope: document
covers(scope, asked) if {
	every dimension, limit in scope {
		within(dimension, limit, asked)
	}
}

# METADATA
# description: true if one dimension covers what is asked; a request on the whole resource is in no list of fields
# scope: document
within("actions", limit, asked) if asked.action in limit

within("fields", limit, asked) if {
	asked.fields != []
	every field in asked.fields {
		field in limit
	}
}

within("resources", limit, asked) if {
	is_string(limit[0])
	some selector in limit
	selects(selector, asked)
}

within("where", limit, asked) if {
	every dimension, values in limit {
		object.get(asked.place, dimension, null) in values
	}
}

within("conditions", limit, asked) if {
	every condition in limit {
		met(condition, asked.attributes)
	}
}

# One incident must meet all conditions that speak of one (rules.md 10).
within("conditions", limit, asked) if {
	some incident in asked.incidents
	attributes := object.union(asked.attributes, {"incident": [incident]})
	every condition in limit {
		met(condition, attributes)
	}
}

# A narrowed scope may keep several lists, each of which must cover (rules.md 3).
within("resources", limit, asked) if {
	is_array(limit[0])
	every selectors in limit {
		is_array(selectors)
		selected(selectors, asked)
	}
}

# METADATA
# description: true if one of the selectors covers the resource or an ancestor of it
# scope: document
selected(selectors, asked) if {
	some selector in selectors
	selects(selector, asked)
}

# METADATA
# description: true if the selector is one of the keys, or equals one segment by segment with `*` for any one segment
# scope: document
selects(selector, asked) if selector in asked.keys

selects(selector, asked) if {
	is_string(selector)
	contains(selector, "*")
	not _misses(split(selector, ":"), asked.keys)
}

# Asked this way round since `every`, unlike `some`, ends at the first key that decides it; the resource comes first.
_misses(pattern, keys) if {
	every key in keys {
		not _matches(pattern, split(key, ":"))
	}
}

_matches(pattern, segments) if {
	count(pattern) == count(segments)
	count({position |
		some position, segment in pattern
		segment != "*"
		segment != segments[position]
	}) == 0
}

# METADATA
# description: true if the condition is understood and the attribute it reads is present and agrees
# scope: document
met(condition, attributes) if {
	# What is asked most: how far up a scale an attribute of the context may be.
	count(condition) == 2
	scale := data.remit.config.scales[condition.attribute]
	some high, operand in scale
	operand == condition.at_most
	some low, actual in scale
	actual == attributes.context[0][condition.attribute]
	low <= high
}

met(condition, attributes) if {
	count(condition) == 2
	actual := attribute(condition.attribute, attributes)
	some operator, operand in condition
	operator != "attribute"
	agrees(operator, operand, actual, condition.attribute, attributes)
}

# METADATA
# description: true if the value of an attribute agrees with the operand of one operator
# scope: document
agrees("at_most", operand, actual, path, _) if {
	scale := _scale(path)
	_rank(scale, actual) <= _rank(scale, operand)
}

agrees("at_least", operand, actual, path, _) if {
	scale := _scale(path)
	_rank(scale, actual) >= _rank(scale, operand)
}

agrees("equals", operand, actual, _, _) if actual == operand

agrees("in", operand, actual, _, _) if {
	is_array(operand)
	actual in operand
}

agrees("equals_attribute", operand, actual, _, attributes) if {
	is_string(operand)
	actual == attribute(operand, attributes)
}

# METADATA
# description: the value an attribute path names; undefined if it is missing. A path without a dot is of the context
# scope: document
attribute(path, attributes) := attributes.context[0][path] if {
	not contains(path, ".")
	attributes.context[0][path] != null
} else := value if {
	contains(path, ".")
	dot := indexof(path, ".")
	name := substring(path, dot + 1, -1)

	# The graph's own value comes first: what an enforcement point is trusted for fills gaps only.
	values := [found |
		some source in attributes[substring(path, 0, dot)]
		found := object.get(source, name, null)
		found != null
	]
	value := values[0]
}

# METADATA
# description: where a value stands on the scale that the last part of the path names; an integer is its own place
# scope: document
place(path, value) := _rank(_scale(path), value)

# Lowest first. A path whose last part names no scale still compares integers.
_scale(path) := object.get(data.remit.config.scales, path, []) if not contains(path, ".")

else := object.get(data.remit.config.scales, regex.replace(path, `^.*\.`, ""), [])

_rank(scale, value) := position if {
	some position, level in scale
	level == value
}

_rank(_, value) := value if {
	is_number(value)
	floor(value) == value
}

# METADATA
# description: true if nothing in the scope is unknown, whether or not it covers what is asked
# scope: document
understood(scope, asked) if {
	every dimension, limit in scope {
		_known(dimension, limit, asked)
	}
}

_known(dimension, _, _) if dimension in {"actions", "resources", "fields"}

_known("where", limit, asked) if {
	every dimension, _ in limit {
		object.get(asked.dimensions, dimension, null) != null
	}
}

_known("conditions", limit, asked) if {
	every condition in limit {
		_readable(condition, asked.attributes)
	}
}

_readable(condition, attributes) if {
	count(condition) == 2
	_rooted(condition.attribute)
	some operator, operand in condition
	_comparable(operator, operand, condition.attribute, attributes)
}

_rooted(path) if not contains(path, ".")

_rooted(path) if split(path, ".")[0] in {"context", "subject", "resource", "action", "incident"}

_comparable(operator, _, _, _) if operator in {"equals", "in", "equals_attribute"}

_comparable(operator, operand, path, attributes) if {
	operator in {"at_most", "at_least"}
	place(path, operand)
	not _off_scale(path, attributes)
}

_off_scale(path, attributes) if {
	actual := attribute(path, attributes)
	actual != null
	not place(path, actual)
}
