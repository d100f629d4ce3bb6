# METADATA
# title: demand
# description: |
#   what the rows of policy data are compared with. A row demands something, so doubt matches: a declared risk outside
#   the scale stands above it, and where graph and request name different environments the rows of both match.
# scope: package
package remit.demand

# METADATA
# description: the environments that graph or request name
# scope: document
environments contains environment if some environment in input.resource.dimensions.environment.graph

environments contains environment if {
	environment := input.resource.dimensions.environment.context
	environment != null
}

# METADATA
# description: true if the declared risk of the action reaches a level; an unknown level is reached by every risk
# scope: document
reaches(level) if not _below(level)

_below(level) if {
	some high, each in data.remit.config.scales.risk
	each == level
	_declared < high
}

# Where the declared risk stands on the scale; undefined where it stands on none.
_declared := place if {
	some place, risk in data.remit.config.scales.risk
	risk == input.action.risk
}
