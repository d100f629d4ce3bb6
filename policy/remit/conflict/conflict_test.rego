# METADATA
# description: what stands in the way of an operation, and what to do about it
# scope: package
package remit.conflict_test

import data.remit.fixture_test as fixture

beside(changes) := fixture.replaced("/coordination/overlapping", [object.union(fixture.lease, changes)])

judged(patch) := {"outcome": document.outcome, "reasons": document.reasons, "results": results} if {
	document := fixture.decide(patch)
	results := [conflict.result | some conflict in document.conflicts]
}

test_shows_the_lease_in_the_way_with_its_result if {
	fixture.decide(beside({})) == object.union(
		fixture.refused("serialize", ["resource_busy", "resource_coordinated"]),
		{"conflicts": [{
			"lease_id": "lease_771",
			"holder": "instance:content-agent-1",
			"key": "wp:post:1024",
			"relation": "same",
			"domain": "CANONICAL",
			"fields": ["canonical"],
			"result": "serialize",
		}]},
	)
}

# S05: a human asking for the canonical is told that it is coordinated; one changing the body goes ahead in parallel.
test_lets_another_domain_of_the_resource_go_ahead if {
	fixture.decide(beside({"domain": "CONTENT_BODY", "fields": ["body"]})) == fixture.executed
}

test_turns_each_cell_into_its_outcome if {
	{theirs: judged(beside({"domain": theirs, "relation": "affects", "key": "site:example.com", "fields": []})) |
		some theirs in ["CONTENT_BODY", "CANONICAL", "URL_REDIRECT", "DATABASE_SCHEMA", "MEDIA", null, "*"]
	} == {
		"CONTENT_BODY": {"outcome": "execute", "reasons": [], "results": []},
		"CANONICAL": {"outcome": "serialize", "reasons": ["resource_busy", "resource_coordinated"], "results": ["serialize"]},
		"URL_REDIRECT": {"outcome": "review_required", "reasons": ["conflicting_operation"], "results": ["review_required"]},
		"DATABASE_SCHEMA": {"outcome": "ordered", "reasons": ["conflicting_operation"], "results": ["ordered"]},
		"MEDIA": {"outcome": "escalate", "reasons": ["conflict_unknown"], "results": ["escalate"]},
		null: {"outcome": "escalate", "reasons": ["conflict_unknown"], "results": ["escalate"]},
		"*": {"outcome": "serialize", "reasons": ["resource_busy", "resource_coordinated"], "results": ["serialize"]},
	}
}

# S54: each result of the matrix is an outcome of its own.
test_has_an_outcome_for_every_result_of_the_matrix if {
	found := {cell: document.outcome |
		some cell in [
			"compatible",
			"serialize",
			"wait",
			"rebase",
			"merge_required",
			"hold",
			"ordered",
			"review_required",
			"escalate",
			"reject",
		]
		matrix := {"CANONICAL": {"MEDIA": cell}}
		document := fixture.decide(beside({"domain": "MEDIA", "relation": "affects"}))
			with data.remit.conflict.matrix as matrix
	}

	found == {
		"compatible": "execute",
		"serialize": "serialize",
		"wait": "wait",
		"rebase": "rebase",
		"merge_required": "merge_required",
		"hold": "hold",
		"ordered": "ordered",
		"review_required": "review_required",
		"escalate": "escalate",
		"reject": "reject",
	}
}

test_reports_all_that_is_in_the_way_and_takes_the_strictest if {
	judged(fixture.replaced("/coordination/overlapping", [
		fixture.lease,
		object.union(
			fixture.lease,
			{"lease_id": "lease_772", "domain": "URL_REDIRECT", "relation": "affects", "key": "site:example.com"},
		),
	])) == {
		"outcome": "review_required",
		"reasons": ["resource_busy", "resource_coordinated", "conflicting_operation"],
		"results": ["serialize", "review_required"],
	}
}

test_is_not_in_its_own_way if {
	judged(beside({"holder": "instance:seo-agent-7"})) == {"outcome": "execute", "reasons": [], "results": []}
}

test_is_in_the_way_when_nobody_knows_whose_it_is if {
	lease := object.remove(fixture.lease, ["holder"])

	judged(fixture.replaced("/coordination/overlapping", [lease])).outcome == "serialize"
}

# S59: one runner holds the job, every other is told to follow.
test_tells_other_runners_to_follow if {
	job := array.concat(beside({}), fixture.replaced("/resource/concurrency", "SINGLE_WRITER"))

	judged(job) == {"outcome": "wait", "reasons": ["lease_required", "follower"], "results": ["follower"]}
}

test_waits_for_everyone_where_nothing_is_concurrent if {
	{note: judged(array.concat(fixture.replaced("/resource/concurrency", "NON_CONCURRENT"), patch)) | some note, patch in {
		"a write for a reader": beside({"mode": "shared", "domain": "CONTENT_BODY"}),
		"a reader for a write": array.concat(reading, beside({})),
		"a reader beside a reader": array.concat(reading, beside({"mode": "shared"})),
	}} == {
		"a write for a reader": {"outcome": "wait", "reasons": ["lease_required", "resource_busy"], "results": ["wait"]},
		"a reader for a write": {"outcome": "wait", "reasons": ["lease_required", "resource_busy"], "results": ["wait"]},
		"a reader beside a reader": {"outcome": "acquire", "reasons": ["lease_required"], "results": []},
	}
}

test_holds_a_conflict_from_both_sides if {
	judged(beside({"concurrency": "NON_CONCURRENT", "domain": "ANALYTICS_READ", "relation": "affects"})) == {
		"outcome": "wait",
		"reasons": ["resource_busy"],
		"results": ["wait"],
	}
	judged(beside({"concurrency": "SINGLE_WRITER", "domain": "CONTENT_BODY", "fields": ["body"]})) == {
		"outcome": "wait",
		"reasons": ["follower"],
		"results": ["follower"],
	}
}

reading := array.concat(fixture.replaced("/action/class", "read"), fixture.replaced("/coordination/mode", "shared"))

test_lets_reads_pass_everywhere_else if {
	patch := array.concat(fixture.replaced("/action/class", "read"), beside({}))

	judged(patch) == {"outcome": "execute", "reasons": [], "results": []}
}
