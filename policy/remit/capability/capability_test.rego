# METADATA
# description: when a capability is needed, and which one is accepted
# scope: package
package remit.capability_test

import data.remit.fixture_test as fixture

codes(patch) := fixture.decide(patch).reasons

presented := {
	"capability_id": "cap_771",
	"valid": true,
	"code": null,
	"chain": ["own-seo@1", "del_882@1", "del_900@1", "m-7@1"],
	"matches": true,
}

with_capability(changes) := fixture.replaced("/capability", object.union(presented, changes))

test_requires_one_from_the_declared_risk_on if {
	{risk: codes(fixture.replaced("/action/risk", risk)) | some risk in ["LOW", "MEDIUM", "HIGH", "EXTREME", null]} == {
		"LOW": [],
		"MEDIUM": [],
		"HIGH": ["capability_required"],
		"EXTREME": ["capability_required"],
		null: ["capability_required"],
	}
}

test_requires_one_only_where_policy_says if {
	{note: codes(array.concat(fixture.replaced("/action/risk", "HIGH"), patch)) | some note, patch in elsewhere} == {
		"here": ["capability_required"],
		"in staging alone": ["scope_not_covered"],
		"where the request says production": ["scope_not_covered", "capability_required"],
		"to read": [],
		"to begin an operation": [],
		"with a capability": [],
	}
}

elsewhere := {
	"here": [],
	"in staging alone": fixture.replaced("/resource/dimensions/environment", {"graph": ["staging"], "context": null}),
	"where the request says production": fixture.replaced("/resource/dimensions/environment/graph", ["staging"]),
	"to read": fixture.replaced("/action/class", "read"),
	"to begin an operation": fixture.added("/coordination/phase", "begin"),
	"with a capability": with_capability({}),
}

test_accepts_only_a_valid_one_of_this_request_and_chain if {
	{note: codes(with_capability(changes)) | some note, changes in capabilities} == {
		"as cited": [],
		"by the bare ids of its hops": [],
		"of another chain": ["capability_mismatch"],
		"of another request": ["capability_mismatch"],
		"that has expired": ["capability_expired"],
		"that was revoked": ["capability_revoked"],
		"that is invalid without saying why": ["capability_mismatch"],
	}
}

capabilities := {
	"as cited": {},
	"by the bare ids of its hops": {"chain": ["own-seo", "del_882", "del_900"]},
	"of another chain": {"chain": ["own-seo", "del_901"]},
	"of another request": {"matches": false},
	"that has expired": {"valid": false, "code": "capability_expired"},
	"that was revoked": {"valid": false, "code": "capability_revoked"},
	"that is invalid without saying why": {"valid": false},
}

# S23: capability and lease are two things; only both together allow an exclusive write.
test_executes_an_exclusive_write_only_with_capability_and_lease if {
	exclusive := array.concat(
		fixture.replaced("/resource/concurrency", "WRITE_EXCLUSIVE"),
		fixture.replaced("/action/risk", "HIGH"),
	)
	{note: fixture.decide(array.concat(exclusive, patch)).outcome | some note, patch in {
		"both": array.concat(with_capability({}), fixture.replaced("/coordination/presented", fixture.held)),
		"capability": with_capability({}),
		"lease": fixture.replaced("/coordination/presented", fixture.held),
		"neither": [],
	}} == {"both": "execute", "capability": "acquire", "lease": "deny", "neither": "deny"}
}

test_is_not_asked_of_reads if {
	codes(array.concat(fixture.replaced("/action/class", "read"), with_capability({"valid": false, "chain": []}))) == []
}
