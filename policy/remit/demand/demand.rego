# METADATA
# title: demand
# description: |
#   which rows of policy data match this request. A row that matches demands something, so doubt matches: a declared risk
#   outside the scale counts as the highest, and a member nobody knows narrows nothing.
# scope: package
package remit.demand

import data.remit.scope

# METADATA
# description: the environments that graph or request name; where they differ, the rows of both match
# scope: document
environments contains environment if some environment in input.resource.dimensions.environment.graph

environments contains environment if {
	environment := input.resource.dimensions.environment.context
	environment != null
}

# METADATA
# description: what rows are compared with
# scope: rule
facts := {"action": input.action, "environments": environments}

# METADATA
# description: true if every member of the row agrees with the facts
# scope: document
matches(row, known) if {
	every member, wanted in row {
		agrees(member, wanted, known)
	}
}

# METADATA
# description: true if one member of a row agrees with the facts; members that are not listed here narrow nothing
# scope: document
agrees("classes", wanted, known) if known.action.class in wanted

agrees("actions", wanted, known) if known.action.name in wanted

agrees("environments", wanted, known) if {
	some environment in wanted
	environment in known.environments
}

agrees("minimum_risk", wanted, known) if not _below(known.action.risk, wanted)

agrees("reversible", wanted, known) if known.action.reversible == wanted

agrees(member, _, _) if not member in {"classes", "actions", "environments", "minimum_risk", "reversible"}

_below(risk, wanted) if scope.place("risk", risk) < scope.place("risk", wanted)
