# METADATA
# description: who may take over from whom
# scope: package
package remit.preemption_test

import data.remit.fixture_test as fixture

judged(patch) := [document.outcome, document.reasons] if {
	document := fixture.decide(patch)
}

edge := {
	"edge_id": "p-incident",
	"version": 1,
	"edge": "MAY_PREEMPT",
	"from": "role:incident-commander",
	"to": "role:release-controller",
	"scope": {
		"where": {"environment": ["production"]},
		"conditions": [{"attribute": "incident.severity", "at_least": "SEV1"}],
	},
	"valid_from": null,
	"valid_until": null,
	"epoch": 91,
	"minimum_epoch": 90,
	"disabled": false,
}

taken := object.union(fixture.lease, {"priority": 5, "preempt_edges": [edge]})

incident(severity) := fixture.replaced("/incidents", [{
	"incident_id": "inc_1",
	"severity": severity,
	"resource_key": "site:example.com",
	"status": "OPEN",
}])

facing(leases) := array.concat(incident("SEV1"), fixture.replaced("/coordination/overlapping", leases))

asking(leases) := array.concat(facing(leases), fixture.added("/request/context/preempt", true))

busy := ["resource_busy", "resource_coordinated"]

# S76: with SEV1 and a MAY_PREEMPT edge it succeeds.
test_allows_a_takeover_with_an_edge_an_incident_and_a_higher_priority if {
	judged(facing([taken])) == ["preempt", busy]
	judged(asking([taken])) == ["preempt", busy]
	fixture.decide(facing([taken])).effect == "permit"
}

test_tells_why_a_takeover_that_is_asked_for_is_refused if {
	{note: judged(patch) | some note, patch in refused} == {
		"no incident": ["deny", array.concat(busy, ["preemption_not_authorized"])],
		"a lesser incident": ["deny", array.concat(busy, ["preemption_not_authorized"])],
		"no edge": ["deny", array.concat(busy, ["preemption_not_authorized"])],
		"an edge that has ended": ["deny", array.concat(busy, ["preemption_not_authorized"])],
		"an edge to come": ["deny", array.concat(busy, ["preemption_not_authorized"])],
		"an edge below the floor": ["deny", array.concat(busy, ["preemption_not_authorized"])],
		"an edge with a disabled end": ["deny", array.concat(busy, ["preemption_not_authorized"])],
		"an edge over another key": ["deny", array.concat(busy, ["preemption_not_authorized"])],
		"equal priority": ["serialize", array.concat(busy, ["priority_not_higher"])],
		"a cooldown": ["serialize", array.concat(busy, ["preemption_cooldown"])],
		"one of two": ["deny", array.concat(busy, ["preemption_not_authorized", "priority_not_higher"])],
	}
}

refused := {
	"no incident": array.concat(asking([taken]), fixture.replaced("/incidents", [])),
	"a lesser incident": array.concat(asking([taken]), incident("SEV2")),
	"no edge": asking([object.union(taken, {"preempt_edges": []})]),
	"an edge that has ended": asking([with_edge({"valid_until": fixture.at})]),
	"an edge to come": asking([with_edge({"valid_from": fixture.at + 1})]),
	"an edge below the floor": asking([with_edge({"epoch": 89})]),
	"an edge with a disabled end": asking([with_edge({"disabled": true})]),
	"an edge over another key": asking([object.union(
		with_edge({"scope": {"resources": ["wp:post:1024"]}}),
		{"key": "site:example.com", "relation": "ancestor", "domain": "CANONICAL", "ancestors": ["site:example.com", "site"]},
	)]),
	"equal priority": asking([object.union(taken, {"priority": 10})]),
	"a cooldown": array.concat(asking([taken]), fixture.added("/coordination/cooldown_until", fixture.at + 1)),
	"one of two": asking([taken, object.union(fixture.lease, {"lease_id": "lease_772"})]),
}

with_edge(changes) := object.union(taken, {"preempt_edges": [object.union(edge, changes)]})

test_only_waits_when_a_takeover_is_neither_allowed_nor_asked_for if {
	judged(facing([object.union(taken, {"priority": 10})])) == ["serialize", busy]
}

test_allows_again_when_the_cooldown_is_over if {
	judged(array.concat(asking([taken]), fixture.added("/coordination/cooldown_until", fixture.at))) == ["preempt", busy]
}

test_takes_the_word_of_the_facts_where_they_hold_no_edges if {
	plain := object.union(fixture.lease, {"priority": 5, "preemptible": true})

	judged(facing([plain])) == ["preempt", busy]
	judged(facing([object.union(plain, {"preemptible": false})])) == ["serialize", busy]
}

# What the matrix forbids, reviews or orders is not settled by taking over.
test_takes_over_from_all_in_the_way_or_from_none if {
	review := object.union(taken, {"lease_id": "lease_772", "domain": "URL_REDIRECT", "relation": "affects"})

	judged(asking([taken, review])) == [
		"review_required",
		["resource_busy", "resource_coordinated", "conflicting_operation"],
	]
}

test_takes_over_from_nobody_when_the_list_was_cut if {
	judged(array.concat(asking([taken]), fixture.replaced("/coordination/overlapping_cut", true))) == ["serialize", busy]
}

test_ignores_the_wish_when_nothing_is_in_the_way if {
	judged(fixture.added("/request/context/preempt", true)) == ["execute", []]
}

test_takes_the_job_of_another_runner if {
	job := array.concat(facing([taken]), fixture.replaced("/resource/concurrency", "SINGLE_WRITER"))

	judged(job) == ["preempt", ["lease_required", "follower"]]
}
