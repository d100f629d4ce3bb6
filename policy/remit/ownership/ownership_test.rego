# METADATA
# description: what ownership asks, of whom, and why it refuses
# scope: package
package remit.ownership_test

import data.remit.fixture_test as fixture

codes(patch) := fixture.decide(patch).reasons

row := fixture.owned("canonical")

rows(found) := fixture.replaced("/resource/ownership", found)

test_refuses_by_the_facts_about_the_owner if {
	{note: codes(patch) | some note, patch in facts} == {
		"no owner": ["ownership_unresolved"],
		"nothing is known of the field": ["ownership_unresolved"],
		"two owners": ["ownership_conflict"],
		"a transfer has frozen it": ["owner_frozen"],
		"another owner": ["not_owner"],
		"a later epoch of the same edge": ["stale_ownership_epoch"],
		"another owner since": ["not_owner", "stale_ownership_epoch"],
		"a field that nobody manages": [],
	}
}

facts := {
	"no owner": rows([object.union(row, {"owner": null, "edge_id": null, "ownership_epoch": null, "owners": []})]),
	"nothing is known of the field": rows([]),
	"two owners": rows([object.union(row, {"owners": ["controller:git", "controller:seo-control-plane"]})]),
	"a transfer has frozen it": rows([object.union(row, {"frozen": true})]),
	"another owner": rows([object.union(row, {"owner": "controller:git", "edge_id": "own-git"})]),
	"a later epoch of the same edge": rows([object.union(row, {"ownership_epoch": 10})]),
	"another owner since": rows([object.union(row, {
		"owner": "controller:git",
		"edge_id": "own-git",
		"ownership_epoch": 10,
	})]),
	"a field that nobody manages": array.concat(
		rows([object.union(row, {"managed": false, "owner": null})]),
		fixture.replaced("/resource/type_fields/canonical/managed", false),
	),
}

# S36: a caller that planned under an older epoch is refused; an equal one is accepted.
test_compares_the_epoch_that_the_caller_names if {
	{epoch: codes(fixture.added("/request/context/ownership_epoch", epoch)) | some epoch in [8, 9, 10, "9"]} == {
		8: ["stale_ownership_epoch"],
		9: [],
		10: [],
		"9": ["stale_ownership_epoch"],
	}
}

grant(stamps) := array.concat(
	fixture.replaced("/chains/0/hops/0/edge", "MAY_WRITE"),
	array.concat(
		fixture.replaced("/chains/0/hops/0/ownership_epoch", null),
		fixture.replaced("/chains/0/hops/0/rests_on", stamps),
	),
)

test_compares_a_grant_with_the_owners_it_rests_on if {
	{note: codes(grant(stamps)) | some note, stamps in stamped} == {
		"the current one": [],
		"the current one among others": [],
		"one of before": ["stale_ownership_epoch"],
		"another edge": ["stale_ownership_epoch"],
		"none": ["not_owner"],
	}
}

# A grant under an owner that had the field is of an older owner of it; under one that never had it, of another.
test_tells_an_older_owner_from_another if {
	under := [{"edge_id": "own-body", "ownership_epoch": 9}]

	codes(array.concat(grant(under), fixture.added("/chains/0/hops/0/stamped_fields", ["canonical"]))) == ["stale_ownership_epoch"]
	codes(array.concat(grant(under), fixture.added("/chains/0/hops/0/stamped_fields", ["body"]))) == ["not_owner"]
}

stamped := {
	"the current one": [{"edge_id": "own-seo", "ownership_epoch": 9}],
	"the current one among others": [
		{"edge_id": "own-body", "ownership_epoch": 2},
		{"edge_id": "own-seo", "ownership_epoch": 9},
	],
	"one of before": [{"edge_id": "own-seo", "ownership_epoch": 8}],
	"another edge": [{"edge_id": "own-body", "ownership_epoch": 9}],
	"none": [],
}

test_asks_about_every_managed_field_of_a_request_on_the_whole_resource if {
	open := json.patch(fixture.chain, [
		{"op": "replace", "path": "/hops/0/scope", "value": {}},
		{"op": "replace", "path": "/hops/1/scope", "value": {}},
		{"op": "replace", "path": "/hops/2/scope", "value": {}},
	])
	whole := array.concat(fixture.replaced("/request/fields", []), fixture.replaced("/chains", [open]))
	charted := rows([fixture.owned(field) | some field, declared in fixture.resource.type_fields; declared.managed])

	codes(whole) == ["ownership_unresolved"]
	codes(array.concat(whole, charted)) == []
}

# What a grant rests on is held against it for no other field's sake.
test_holds_nothing_against_the_owners_that_a_grant_rests_on if {
	under := [{"edge_id": "own-seo", "ownership_epoch": 9}]
	body := object.union(fixture.owned("body"), {"owner": "controller:content", "edge_id": "own-body"})
	both := array.concat(rows([row, body]), fixture.added("/chains/0/hops/0/stamped_fields", ["canonical"]))

	codes(array.concat(grant(under), both)) == ["not_owner"]
}

# What holds a lease from before the freeze may finish until the deadline; it may not begin or renew.
test_lets_a_holder_finish_after_the_freeze if {
	{note: codes(array.concat(frozen, patch)) | some note, patch in finishing} == {
		"before the deadline": [],
		"at the deadline": ["owner_frozen"],
		"without a lease": ["owner_frozen"],
		"with a lease that has ended": ["owner_frozen", "lease_expired"],
		"to renew": ["owner_frozen"],
		"to begin": ["owner_frozen"],
	}
}

frozen := array.concat(
	facts["a transfer has frozen it"],
	array.concat(
		fixture.replaced("/coordination/presented", fixture.held),
		fixture.replaced("/coordination/transfer", {"transfer_id": "t1", "freeze_deadline": fixture.at + 1}),
	),
)

finishing := {
	"before the deadline": [],
	"at the deadline": fixture.replaced("/coordination/transfer/freeze_deadline", fixture.at),
	"without a lease": fixture.replaced("/coordination/presented", null),
	"with a lease that has ended": fixture.replaced("/coordination/presented/state", "expired"),
	"to renew": fixture.added("/coordination/phase", "renew"),
	"to begin": fixture.added("/coordination/phase", "begin"),
}

unowned := rows([object.union(row, {"owner": null, "edge_id": null, "ownership_epoch": null, "owners": []})])

test_is_asked_of_writes_and_of_the_reads_that_policy_names if {
	{class: codes(array.concat(unowned, fixture.replaced("/action/class", class))) |
		some class in ["write", "reconcile", "read", "approve"]
	} == {
		"write": ["ownership_unresolved"],
		"reconcile": ["ownership_unresolved"],
		"read": [],
		"approve": [],
	}
}

test_is_asked_of_reads_of_the_types_that_policy_names if {
	reading := array.concat(unowned, fixture.replaced("/action/class", "read"))
	document := fixture.decide(reading) with data.remit.config.ownership_for_reads as ["wp:post"]

	document == fixture.refused("deny", ["ownership_unresolved"])
}
