# METADATA
# description: what rows of policy data are compared with
# scope: package
package remit.demand_test

import data.remit.demand
import data.remit.fixture_test as fixture

# Doubt matches: a risk outside the scale stands above it, and an unknown level is reached by every risk.
test_reaches_levels_by_the_declared_risk if {
	{risk: levels(risk) | some risk in ["LOW", "HIGH", "EXTREME", null]} == {
		"LOW": {"LOW", "BOUNDLESS", null},
		"HIGH": {"LOW", "HIGH", "BOUNDLESS", null},
		"EXTREME": {"LOW", "HIGH", "CRITICAL", "BOUNDLESS", null},
		null: {"LOW", "HIGH", "CRITICAL", "BOUNDLESS", null},
	}
}

levels(risk) := found if {
	facts := fixture.changed(fixture.replaced("/action/risk", risk))
	found := reached with input as facts
}

reached := {level | some level in ["LOW", "HIGH", "CRITICAL", "BOUNDLESS", null]; demand.reaches(level)}

test_lies_in_the_environments_that_graph_or_request_name if {
	three := {"graph": ["staging", "preview"], "context": "production"}
	facts := fixture.changed(fixture.replaced("/resource/dimensions/environment", three))
	found := demand.environments with input as facts

	found == {"staging", "preview", "production"}
}
