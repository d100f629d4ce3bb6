# METADATA
# description: the safety invariants that policy holds, by their numbers in the ledger of the mission
# scope: package
package remit.invariants_test

import data.remit.fixture_test as fixture

executes(patch) if fixture.decide(patch).outcome == "execute"

test_executes_when_no_premise_is_violated if {
	executes([])
}

unlike := ["READ_SHARED", "WRITE_EXCLUSIVE", "SINGLE_WRITER", "NON_CONCURRENT"]

# No resolved ownership, no managed write.
test_i06_writes_no_managed_field_without_a_resolved_owner if {
	{note | some note, ownership in unresolved; executes(fixture.replaced("/resource/ownership", ownership))} == set()
}

unresolved := {
	"no row": [],
	"no owner": [
		object.union(fixture.owned("canonical"), {"owner": null, "edge_id": null, "ownership_epoch": null, "owners": []}),
	],
	"a row of another field": [fixture.owned("body")],
}

# No valid coordination right, no exclusive write.
test_i07_writes_nothing_exclusive_without_a_right_to_coordinate if {
	{class | some class in unlike; executes(fixture.replaced("/resource/concurrency", class))} == set()
}

# No valid lease, on a resource that needs exclusive change: no write.
test_i08_writes_nothing_exclusive_on_a_lease_that_is_not_valid if {
	{[class, state] |
		some class in unlike
		some state in ["expired", "revoked", "unknown", "stale", "not_held"]
		executes(array.concat(
			fixture.replaced("/resource/concurrency", class),
			fixture.replaced("/coordination/presented", object.union(fixture.held, {"state": state})),
		))
	} == set()
}

# A stale lease epoch: no write, whatever the class and whatever else holds.
test_i09_writes_nothing_behind_the_fence if {
	{class |
		some class in array.concat(unlike, ["WRITE_OPTIMISTIC", "APPEND_ONLY", "MULTI_WRITER_MERGEABLE"])
		executes(array.concat(
			fixture.replaced("/resource/concurrency", class),
			fixture.replaced("/coordination/presented", object.union(fixture.held, {"current_token": 34})),
		))
	} == set()
}

# A stale resource version: no blind overwrite.
test_i10_overwrites_nothing_on_a_stale_version if {
	{class |
		some class in ["WRITE_OPTIMISTIC", "WRITE_EXCLUSIVE", "APPEND_ONLY", "MULTI_WRITER_MERGEABLE"]
		executes(array.concat(
			fixture.replaced("/resource/concurrency", class),
			array.concat(
				fixture.replaced("/coordination/presented", fixture.held),
				fixture.replaced("/resource/version", "rev_332"),
			),
		))
	} == set()
}

# Delegated authority never exceeds its parent, in any dimension and at any depth.
test_i11_delegates_no_more_than_a_parent_has if {
	{[position, name] |
		some position, _ in fixture.chain.hops
		some name, limit in narrower
		executes(fixture.added(sprintf("/chains/0/hops/%v/scope/%v", [position, name]), limit))
	} == set()
}

narrower := {
	"actions": ["OTHER"],
	"resources": ["wp:page"],
	"fields": ["body"],
	"where": {"site": ["example.org"]},
	"conditions": [{"attribute": "mfa", "equals": true}],
}

# One managed field, one authoritative owner.
test_i12_writes_no_field_that_two_own if {
	not executes(fixture.replaced("/resource/ownership/0/owners", ["controller:git", "controller:seo-control-plane"]))
}
