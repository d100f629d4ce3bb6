# METADATA
# description: what is asked, as scopes and chains compare it
# scope: package
package remit.authority_test

import data.remit.authority
import data.remit.fixture_test as fixture

places(dimensions) := found if {
	facts := fixture.changed(fixture.replaced("/resource/dimensions", dimensions))
	found := authority.place with input as facts
}

# rules.md 3: the nearest ancestors must agree, and the request must not say otherwise.
test_places_a_dimension_only_where_graph_and_request_agree if {
	places({
		"by the graph": {"graph": ["production"], "context": null},
		"by both": {"graph": ["production"], "context": "production"},
		"by the request": {"graph": [], "context": "production"},
		"disputed": {"graph": ["production"], "context": "staging"},
		"ancestors apart": {"graph": ["production", "staging"], "context": null},
		"ancestors apart, one as the request says": {"graph": ["production", "staging"], "context": "staging"},
		"nowhere": {"graph": [], "context": null},
	}) == {"by the graph": "production", "by both": "production", "by the request": "production"}
}

test_counts_only_incidents_that_are_open if {
	incidents := [
		{"incident_id": "inc_1", "severity": "SEV1", "resource_key": "site", "status": "OPEN"},
		{"incident_id": "inc_2", "severity": "SEV1", "resource_key": "site", "status": "RESOLVED"},
	]
	facts := fixture.changed(fixture.replaced("/incidents", incidents))
	found := authority.open_incidents with input as facts

	found == [incidents[0]]
}

# S31: just below, at and above the level.
test_requires_trust_of_every_delegate_for_writes_in_production if {
	{trust: fixture.decide(fixture.replaced("/chains/0/hops/1/trust", trust)).reasons | some trust in [0, 1, 2]} == {
		0: ["trust_too_low"],
		1: [],
		2: [],
	}
}

test_requires_no_trust_to_read_or_elsewhere if {
	untrusted := fixture.replaced("/chains/0/hops/1/trust", 0)
	staging := array.concat(
		fixture.replaced("/resource/dimensions/environment", {"graph": ["staging"], "context": null}),
		[{"op": "remove", "path": path} | some path in ["/chains/0/hops/1/scope/where", "/chains/0/hops/2/scope/where"]],
	)

	fixture.decide(array.concat(untrusted, fixture.replaced("/action/class", "read"))).outcome == "execute"
	fixture.decide(array.concat(untrusted, staging)).outcome == "execute"
}

test_takes_the_highest_trust_that_one_of_the_environments_asks_for if {
	both := {"graph": ["staging"], "context": "production"}
	disputed := fixture.changed(fixture.replaced("/resource/dimensions/environment", both))
	found := authority.required_trust with input as disputed
		with data.remit.config.required_trust as {"write": {"production": 3, "staging": 2}}

	found == 3
}
