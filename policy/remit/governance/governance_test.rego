# METADATA
# description: governance commands need their law, and authority unless a root speaks
# scope: package
package remit.governance_test

import data.remit.fixture_test as fixture

revocation := {"maker": false, "above": false, "keys": [], "edges": []}

command(governance) := array.concat(
	array.concat(
		fixture.replaced("/resource/key", "remit:graph"),
		fixture.replaced("/chains", []),
	),
	array.concat(
		fixture.replaced("/resource/concurrency", "APPEND_ONLY"),
		fixture.added("/governance", object.union(
			{"command": "REVOKE", "root": false, "delegation": null, "revocation": null, "transfer": null},
			governance,
		)),
	),
)

judged(patch) := [document.outcome, document.reasons] if {
	document := fixture.decide(patch)
}

test_decides_by_law_and_authority if {
	{note: judged(command(governance)) | some note, governance in commands} == {
		"anyone": ["deny", ["no_authority"]],
		"a root": ["execute", []],
		"a root against the law": ["deny", ["invalid_transition"]],
		"one who made it": ["execute", []],
		"one who has no right to end it": ["deny", ["no_authority"]],
	}
}

commands := {
	"anyone": {},
	"a root": {"root": true},
	"a root against the law": {"root": true, "transfer": {
		"step": "retire", "state": "FROZEN", "owner": true, "able": true, "live_leases": 0,
		"freeze_deadline": null, "new_may": null, "old_may": null,
	}},
	"one who made it": {"revocation": object.union(revocation, {"maker": true})},
	"one who has no right to end it": {"revocation": revocation},
}

# The word of a root is for governance commands only (rules.md 5).
test_needs_a_chain_for_everything_but_the_graph_even_for_a_root if {
	patch := array.concat(command({"root": true}), fixture.replaced("/resource/key", "wp:post:1024"))

	judged(patch) == ["deny", ["no_authority"]]
}

test_lets_a_chain_carry_a_command_whose_law_agrees if {
	patch := array.concat(command({"command": "GRANT"}), fixture.replaced("/chains", [fixture.chain]))

	judged(patch) == ["execute", []]
}
