# METADATA
# description: who has to approve what, and whose approval counts
# scope: package
package remit.approval_test

import data.remit.fixture_test as fixture

# What cannot be undone in production, with the capability that its risk needs.
irreversible := array.concat(
	array.concat(fixture.replaced("/action/risk", "CRITICAL"), fixture.replaced("/action/reversible", false)),
	fixture.replaced("/capability", {
		"capability_id": "cap_771",
		"valid": true,
		"code": null,
		"chain": ["own-seo", "del_882", "del_900"],
		"matches": true,
	}),
)

approved(changes) := fixture.replaced("/approval", object.union(
	{"approval_id": "a1", "quorum": 1, "approvers": ["human:editor"], "current": true, "code": null},
	changes,
))

demand := {"rule": "irreversible_in_production", "quorum": 1, "mode": "per_call"}

test_permits_with_the_demand_when_it_is_approved if {
	fixture.decide(array.concat(irreversible, approved({}))) == object.union(fixture.executed, {"approvals": [demand]})
}

test_asks_for_review_when_the_approval_is_missing_or_short if {
	{fixture.decide(array.concat(irreversible, patch)) | some patch in short} == {object.union(
		fixture.refused("review_required", ["approval_required"]),
		{"approvals": [demand]},
	)}
}

short := [
	[],
	approved({"approvers": []}),
	approved({"approvers": ["instance:seo-agent-7"]}),
	approved({"quorum": 2}),
	approved({"mode": "per_run"}),
]

# S117, S120: an approval of another version, content or time does not fit.
test_asks_for_review_when_the_approval_no_longer_fits if {
	fixture.decide(array.concat(irreversible, approved({"current": false}))) == object.union(
		fixture.refused("review_required", ["approval_required", "approval_stale"]),
		{"approvals": [demand]},
	)
}

test_demands_nothing_where_no_row_matches if {
	{note: fixture.decide(array.concat(irreversible, patch)).approvals | some note, patch in elsewhere} == {
		"reversible": [],
		"of lower risk": [],
		"in staging": [],
		"to read": [],
		"here": [demand],
	}
}

elsewhere := {
	"reversible": fixture.replaced("/action/reversible", true),
	"of lower risk": fixture.replaced("/action/risk", "HIGH"),
	"in staging": fixture.replaced("/resource/dimensions/environment", {"graph": ["staging"], "context": null}),
	"to read": fixture.replaced("/action/class", "read"),
	"here": [],
}

# A row without members matches every write, once.
test_demands_of_every_write_where_a_row_narrows_nothing if {
	document := fixture.decide([]) with data.remit.config.required_approvals as [{}]

	document == object.union(fixture.refused("review_required", ["approval_required"]), {"approvals": [{
		"rule": "required_approvals",
		"quorum": 1,
		"mode": "per_call",
	}]})
}

test_accepts_an_approval_of_the_run_where_the_row_says_so if {
	document := fixture.decide(approved({"mode": "per_run"})) with data.remit.config.required_approvals as [
		{"mode": "per_run", "actions": ["UPDATE_CANONICAL"]},
	]

	document.outcome == "execute"
}

# S121: self approval and approval out of scope are refused with different codes.
test_refuses_to_approve_ones_own_request if {
	approving := array.concat(
		fixture.replaced("/action/class", "approve"),
		fixture.replaced("/resource/concurrency", "WRITE_EXCLUSIVE"),
	)
	{requester: fixture.decide(array.concat(approving, fixture.added("/request/context/requester", requester))).reasons |
		some requester in ["instance:seo-agent-7", "instance:content-agent-1"]
	} == {"instance:seo-agent-7": ["self_approval"], "instance:content-agent-1": []}
}
