# METADATA
# description: what a permit demands of the enforcement point
# scope: package
package remit.obligation_test

import data.remit.fixture_test as fixture

obligations(patch) := fixture.decide(patch).obligations

record := {"id": "record", "type": "record", "properties": {"before": true}}

test_demands_what_the_permit_rests_on if {
	{note: obligations(patch) | some note, patch in permits} == {
		"a write": [fixture.precondition, fixture.restrict_fields],
		"a write of an action that is recorded": [fixture.precondition, record, fixture.restrict_fields],
		"a read": [fixture.restrict_fields],
		"a write under break-glass": [
			fixture.precondition,
			fixture.restrict_fields,
			{"id": "review", "type": "review", "properties": {"edge_ids": ["own-seo"]}},
		],
		"a lease first": [fixture.precondition, fixture.restrict_fields],
		"a refusal": [],
	}
}

permits := {
	"a write": [],
	"a write of an action that is recorded": fixture.replaced("/action/record_required", true),
	"a read": fixture.replaced("/action/class", "read"),
	"a write under break-glass": fixture.added("/chains/0/hops/0/break_glass", true),
	"a lease first": fixture.replaced("/resource/concurrency", "WRITE_EXCLUSIVE"),
	"a refusal": fixture.replaced("/chains", []),
}

test_records_the_classes_that_policy_names if {
	document := fixture.decide([]) with data.remit.config.record_required as ["write"]

	document.obligations == [fixture.precondition, record, fixture.restrict_fields]
}

test_restricts_no_fields_of_a_request_on_the_whole_resource if {
	open := json.patch(fixture.chain, [{"op": "replace", "path": path, "value": {}} |
		some path in ["/hops/0/scope", "/hops/1/scope", "/hops/2/scope"]
	])
	whole := array.concat(fixture.replaced("/request/fields", []), array.concat(
		fixture.replaced("/chains", [open]),
		fixture.replaced("/resource/type_fields", {}),
	))

	obligations(whole) == [fixture.precondition]
}

test_adds_what_the_site_demands if {
	duty := {"id": "notify", "type": "notify", "properties": {"channel": "seo"}}
	document := fixture.decide_at_site([], {"obligations": {duty}})

	document.obligations == [duty, fixture.precondition, fixture.restrict_fields]
}
