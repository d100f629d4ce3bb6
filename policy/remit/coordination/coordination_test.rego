# METADATA
# description: what each class of concurrency demands, and which lease counts
# scope: package
package remit.coordination_test

import data.remit.fixture_test as fixture

codes(patch) := fixture.decide(patch).reasons

class(name) := fixture.replaced("/resource/concurrency", name)

bare := [{"op": "remove", "path": "/request/context/expected_version"}]

# S46: per class, what a write without lease and version lacks.
test_demands_lease_and_version_by_class if {
	{name: codes(array.concat(class(name), bare)) | some name in classes} == {
		"READ_SHARED": ["conflicting_operation"],
		"WRITE_OPTIMISTIC": ["version_required"],
		"WRITE_EXCLUSIVE": ["lease_required"],
		"APPEND_ONLY": [],
		"SINGLE_WRITER": ["lease_required"],
		"MULTI_WRITER_MERGEABLE": ["version_required"],
		"NON_CONCURRENT": ["lease_required"],
		"NO_SUCH_CLASS": ["conflicting_operation"],
		null: ["conflicting_operation"],
	}
}

classes := [
	"READ_SHARED",
	"WRITE_OPTIMISTIC",
	"WRITE_EXCLUSIVE",
	"APPEND_ONLY",
	"SINGLE_WRITER",
	"MULTI_WRITER_MERGEABLE",
	"NON_CONCURRENT",
	"NO_SUCH_CLASS",
	null,
]

test_demands_the_version_once_the_lease_is_there if {
	presented := fixture.replaced("/coordination/presented", fixture.held)
	{name: codes(array.concat(class(name), array.concat(bare, presented))) |
		some name in ["WRITE_EXCLUSIVE", "SINGLE_WRITER", "NON_CONCURRENT"]
	} == {"WRITE_EXCLUSIVE": ["version_required"], "SINGLE_WRITER": [], "NON_CONCURRENT": []}
}

test_rejects_a_write_where_nothing_is_written if {
	fixture.decide(class("READ_SHARED")) == fixture.refused("reject", ["conflicting_operation"])
}

# The reads never wait, but where writes exclude them.
test_lets_reads_go_free_except_where_nothing_is_concurrent if {
	reading := array.concat(fixture.replaced("/action/class", "read"), bare)
	{name: codes(array.concat(class(name), reading)) | some name in classes} == object.union(
		{name: [] | some name in classes},
		{"NON_CONCURRENT": ["lease_required"]},
	)
}

test_leads_to_a_lease_when_one_is_needed if {
	fixture.decide(class("WRITE_EXCLUSIVE")) == object.union(fixture.executed, {
		"outcome": "acquire",
		"reasons": ["lease_required"],
	})
}

test_needs_a_lease_where_the_impact_is_a_key_of_its_own if {
	codes(fixture.replaced("/resource/escalated", true)) == ["lease_required"]
}

# Of a resource that many may write, only a set that merges needs no version.
test_needs_no_version_for_what_merges_as_a_set if {
	merging := array.concat(class("MULTI_WRITER_MERGEABLE"), bare)
	{note: codes(array.concat(merging, touching(fields))) | some note, fields in {
		"a set": ["tags"],
		"a set and more": ["meta_description", "tags"],
		"everything": [],
	}} == {"a set": [], "a set and more": ["version_required"], "everything": ["version_required"]}
}

# Touches other fields, with authority over them and nobody managing them.
touching(fields) := [
	{"op": "replace", "path": "/request/fields", "value": fields},
	{"op": "replace", "path": "/resource/ownership", "value": []},
	{"op": "replace", "path": "/chains/0/hops/0/scope", "value": {}},
	{"op": "replace", "path": "/chains/0/hops/1/scope", "value": {}},
	{"op": "replace", "path": "/chains/0/hops/2/scope", "value": {}},
	{"op": "replace", "path": "/resource/type_fields", "value": {field: object.union(declared, {"managed": false}) |
		some field, declared in fixture.resource.type_fields
	}},
]

presented(changes) := array.concat(
	class("WRITE_EXCLUSIVE"),
	fixture.replaced("/coordination/presented", object.union(fixture.held, changes)),
)

test_accepts_a_current_lease_and_names_what_is_wrong_with_any_other if {
	{note: [document.outcome, document.reasons] |
		some note, changes in leases
		document := fixture.decide(presented(changes))
	} == {
		"current": ["execute", []],
		"current, by a token that is not known to be behind": ["execute", []],
		"expired": ["acquire", ["lease_expired"]],
		"expired, and raised since": ["deny", ["lease_expired", "stale_fencing_token"]],
		"revoked with its delegation": ["deny", ["delegation_revoked", "lease_revoked", "stale_fencing_token"]],
		"taken over": ["deny", ["lease_revoked", "stale_fencing_token", "preempted"]],
		"of another": ["deny", ["lease_not_held"]],
		"unknown": ["deny", ["lease_not_held"]],
		"behind the fence": ["deny", ["stale_fencing_token"]],
		"called current, behind the fence": ["deny", ["stale_fencing_token"]],
		"shared with readers": ["acquire", ["lease_required"]],
	}
}

leases := {
	"current": {},
	"current, by a token that is not known to be behind": {"current_token": null},
	"expired": {"state": "expired"},
	"expired, and raised since": {"state": "expired", "current_token": 34},
	"revoked with its delegation": {"state": "revoked", "code": "delegation_revoked", "current_token": 34},
	"taken over": {"state": "revoked", "code": "preempted", "current_token": 34},
	"of another": {"state": "not_held"},
	"unknown": {"state": "unknown"},
	"behind the fence": {"state": "stale", "current_token": 34},
	"called current, behind the fence": {"current_token": 34},
	"shared with readers": {"mode": "shared"},
}

test_carries_a_read_by_a_lease_shared_with_readers if {
	reading := array.concat(class("NON_CONCURRENT"), fixture.replaced("/action/class", "read"))
	shared := fixture.replaced("/coordination/presented", object.union(fixture.held, {"mode": "shared"}))

	codes(array.concat(reading, shared)) == []
}

# S93, S94: a session holds writes to what it touches, by anyone but its actor, human or agent alike.
test_holds_what_a_human_session_touches if {
	{note: codes(fixture.replaced("/coordination/presence", [object.union(session, changes)])) |
		some note, changes in sessions
	} == {
		"the field": ["human_presence"],
		"everything": ["human_presence"],
		"another field": [],
		"another resource": [],
		"one's own": [],
	}
	fixture.decide(fixture.replaced("/coordination/presence", [session])).outcome == "hold"
}

session := {"actor": "human:editor", "fields": ["canonical", "title"], "resource_key": "wp:post:1024"}

sessions := {
	"the field": {},
	"everything": {"fields": []},
	"another field": {"fields": ["title"]},
	"another resource": {"resource_key": "wp:post:7"},
	"one's own": {"actor": "instance:seo-agent-7"},
}

test_holds_a_write_to_the_whole_resource_by_any_session if {
	whole := array.concat(
		touching([]),
		fixture.replaced("/coordination/presence", [object.union(session, {"fields": ["title"]})]),
	)

	codes(whole) == ["human_presence"]
}

# S58: only the next of a line, once what it depends on is done.
test_keeps_the_order_of_a_line if {
	{note: [document.outcome, document.reasons] |
		some note, changes in turns
		turn := object.union({"line": "migrations", "number": 104, "next": 104, "depends_met": true}, changes)
		document := fixture.decide(fixture.replaced("/coordination/sequence", turn))
	} == {
		"next": ["execute", []],
		"before its turn": ["ordered", ["sequence_violated"]],
		"before what it depends on": ["ordered", ["sequence_violated"]],
	}
}

turns := {"next": {}, "before its turn": {"next": 103}, "before what it depends on": {"depends_met": false}}
