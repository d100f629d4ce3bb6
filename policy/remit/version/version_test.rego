# METADATA
# description: whether the write knows the state it changes
# scope: package
package remit.version_test

import data.remit.fixture_test as fixture

codes(patch) := fixture.decide(patch).reasons

unread := array.concat(
	fixture.replaced("/resource/version", null),
	fixture.replaced("/resource/version_trusted", false),
)

test_compares_what_was_expected_with_what_was_read if {
	{note: codes(patch) | some note, patch in versions} == {
		"equal": [],
		"moved": ["stale_resource_version"],
		"read, but not by one who is trusted": [],
		"not read, and superseded": ["stale_resource_version"],
		"not read": [],
		"superseded before, and read again": [],
		"not named": ["version_required"],
		"not named, to begin an operation": [],
	}
}

versions := {
	"equal": [],
	"moved": fixture.replaced("/resource/version", "rev_332"),
	"read, but not by one who is trusted": array.concat(
		fixture.replaced("/resource/version", "rev_332"),
		fixture.replaced("/resource/version_trusted", false),
	),
	"not read, and superseded": array.concat(unread, fixture.replaced("/resource/superseded", true)),
	"not read": unread,
	"superseded before, and read again": fixture.replaced("/resource/superseded", true),
	"not named": [{"op": "remove", "path": "/request/context/expected_version"}],
	"not named, to begin an operation": [
		{"op": "remove", "path": "/request/context/expected_version"},
		{"op": "add", "path": "/coordination/phase", "value": "begin"},
	],
}

# A stale plan is not retryable: read again and decide again.
test_rebases_when_the_state_moved if {
	fixture.decide(versions.moved) == fixture.refused("rebase", ["stale_resource_version"])
}

# What could not be compared here is compared at the resource, atomically.
test_demands_the_precondition_of_every_permit_that_names_a_version if {
	fixture.decide(unread).obligations == [fixture.precondition, fixture.restrict_fields]
	appended := array.concat(versions["not named"], fixture.replaced("/resource/concurrency", "APPEND_ONLY"))
	fixture.decide(appended).obligations == [fixture.restrict_fields]
}

test_is_not_asked_of_reads if {
	fixture.decide(array.concat(versions.moved, fixture.replaced("/action/class", "read"))) == object.union(
		fixture.executed,
		{"obligations": [fixture.restrict_fields]},
	)
}
