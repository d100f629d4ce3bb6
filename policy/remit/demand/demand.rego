# METADATA
# title: demand
# description: |
#   what the rows of policy data are compared with. A row demands something, so doubt matches: a declared risk outside the
#   scale stands above it, and where graph and request name different environments the rows of both match.
# scope: package
package remit.demand

import data.remit.scope

# METADATA
# description: the environments that graph or request name
# scope: document
environments contains environment if some environment in input.resource.dimensions.environment.graph

environments contains environment if {
	environment := input.resource.dimensions.environment.context
	environment != null
}

# METADATA
# description: where the declared risk of the action stands on its scale
# scope: document
default risk := 1000000

risk := scope.place("risk", input.action.risk)

# METADATA
# description: true if the declared risk of the action reaches a level; an unknown level is reached by every risk
# scope: document
reaches(level) if not _below(level)

_below(level) if risk < scope.place("risk", level)
