# METADATA
# title: demand
# description: |
#   which rows of policy data match this request. A row that matches demands something, so doubt matches: a declared risk
#   outside the scale counts as the highest, and a member nobody knows narrows nothing.
# scope: package
package remit.demand

import data.remit.scope

# METADATA
# description: |
#   the environments that graph or request name; where they differ, the rows of both match. `*` is what a row that names
#   none asks for
# scope: document
environments contains "*"

environments contains environment if some environment in input.resource.dimensions.environment.graph

environments contains environment if {
	environment := input.resource.dimensions.environment.context
	environment != null
}

# METADATA
# description: where the declared risk of the action stands; one outside the scale stands above it
# scope: document
default risk := 1000000

risk := scope.place("risk", input.action.risk)

# METADATA
# description: what rows are compared with
# scope: rule
facts := {"action": input.action, "environments": environments, "risk": risk}

# METADATA
# description: true if every member of the row that narrows agrees with the facts
# scope: document
matches(row, known) if {
	object.get(row, "reversible", known.action.reversible) == known.action.reversible
	not _below(known.risk, row)
	known.action.class in object.get(row, "classes", [known.action.class])
	known.action.name in object.get(row, "actions", [known.action.name])
	{environment | some environment in object.get(row, "environments", ["*"])} & known.environments != set()
}

_below(place, row) if place < scope.place("risk", row.minimum_risk)
