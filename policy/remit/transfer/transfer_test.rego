# METADATA
# description: the steps of an ownership transfer
# scope: package
package remit.transfer_test

import data.remit.fixture_test as fixture
import data.remit.transfer

step := {
	"step": "propose",
	"state": null,
	"owner": true,
	"able": true,
	"live_leases": 0,
	"freeze_deadline": fixture.at + 1,
	"new_may": true,
	"old_may": false,
}

codes(root, changes) := found if {
	taken := object.union(step, changes)
	facts := fixture.changed(fixture.added("/governance", {
		"command": "TRANSFER",
		"root": root,
		"delegation": null,
		"revocation": null,
		"transfer": taken,
	}))
	found := transfer.reasons with input as facts
}

states := [null, "PROPOSED", "VALIDATED", "FROZEN", "TRANSFERRED", "REGISTERED", "VERIFIED", "RETIRED", "ABORTED"]

# Steps out of order are refused; after authority has moved nothing can be aborted.
test_walks_the_steps_in_their_order_only if {
	{[state, name] |
		some state in states
		some name in ["propose", "validate", "freeze", "transfer", "register", "verify", "retire", "abort", "skip"]
		codes(false, {"step": name, "state": state}) == set()
	} == {
		[null, "propose"],
		["PROPOSED", "validate"],
		["PROPOSED", "abort"],
		["VALIDATED", "freeze"],
		["VALIDATED", "abort"],
		["FROZEN", "transfer"],
		["FROZEN", "abort"],
		["TRANSFERRED", "register"],
		["REGISTERED", "verify"],
		["VERIFIED", "retire"],
	}
}

test_refuses_each_step_whose_premise_is_missing if {
	codes(false, {"owner": false}) == {"not_owner"}
	codes(true, {"owner": false}) == set()
	codes(false, {"step": "freeze", "state": "VALIDATED", "owner": false}) == {"not_owner"}
	codes(true, {"step": "abort", "state": "FROZEN", "owner": false}) == set()
	codes(false, {"step": "validate", "state": "PROPOSED", "able": false}) == {"not_verified"}
	codes(false, {"step": "transfer", "state": "FROZEN", "live_leases": 1}) == {"resource_busy"}
	codes(false, {"step": "transfer", "state": "FROZEN", "live_leases": 1, "freeze_deadline": fixture.at}) == set()
	codes(false, {"step": "verify", "state": "REGISTERED", "new_may": false}) == {"not_verified"}
	codes(false, {"step": "verify", "state": "REGISTERED", "old_may": true}) == {"not_verified"}
	codes(false, {"step": "retire", "state": "FROZEN"}) == {"invalid_transition"}
}

test_asks_nothing_of_other_requests if {
	found := transfer.reasons with input as fixture.write

	found == set()
}
