# METADATA
# description: who may end what
# scope: package
package remit.revocation_test

import data.remit.fixture_test as fixture

edge := object.union(fixture.hop("r-1", "MAY_REVOKE", "human:op-2", "instance:a"), {
	"scope": {"actions": ["REVOKE"], "resources": ["wp:post:*"], "where": {"environment": ["production"]}},
})

asked := {"maker": false, "above": false, "keys": ["wp:post:1024", "wp:post", "wp"], "edges": []}

codes(root, changes) := found if {
	revocation := object.union(asked, changes)
	facts := fixture.changed(array.concat(
		fixture.replaced("/action/name", "REVOKE"),
		fixture.added("/governance", {
			"command": "REVOKE",
			"root": root,
			"delegation": null,
			"revocation": revocation,
			"transfer": null,
		}),
	))
	found := data.remit.revocation.reasons with input as facts
}

test_lets_maker_those_above_root_and_the_entitled_end_it if {
	{note: codes(root == "root", changes) | some [note, root, changes] in revocations} == {
		"nobody in particular": {"no_authority"},
		"its maker": set(),
		"one above": set(),
		"a root": set(),
		"under an edge": set(),
		"under an edge that has ended": {"no_authority"},
		"under an edge over another resource": {"no_authority"},
	}
}

revocations := [
	["nobody in particular", "", {}],
	["its maker", "", {"maker": true}],
	["one above", "", {"above": true}],
	["a root", "root", {}],
	["under an edge", "", {"edges": [edge]}],
	["under an edge that has ended", "", {"edges": [object.union(edge, {"valid_until": fixture.at})]}],
	["under an edge over another resource", "", {"edges": [edge], "keys": ["wp:page:7", "wp:page", "wp"]}],
]

test_asks_nothing_of_other_requests if {
	found := data.remit.revocation.reasons with input as fixture.write

	found == set()
}
