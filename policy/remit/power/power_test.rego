# METADATA
# description: who may be given the power to act for others
# scope: package
package remit.power_test

import data.remit.fixture_test as fixture

power := {
	"edge": "MAY_DELEGATE",
	"holder": "service:broker",
	"trust": 1,
	"rights": [{"classes": ["write"], "scope": {"where": {"environment": ["production"]}}}],
}

facts(power_facts) := fixture.changed(fixture.added("/governance", object.union(
	{"command": "GRANT", "root": true, "delegation": null, "revocation": null, "transfer": null},
	power_facts,
)))

codes(changes) := found if {
	found := data.remit.power.reasons with input as facts({"power": object.union(power, changes)})
}

test_asks_for_the_trust_of_a_delegate if {
	{note: codes(changes) | some note, changes in powers} == {
		"trusted": set(),
		"more than trusted": set(),
		"not trusted": {"trust_too_low"},
		"not trusted, for reads": set(),
		"not trusted, elsewhere": set(),
		"not trusted, everywhere": {"trust_too_low"},
		"not trusted, one right of two": {"trust_too_low"},
	}
}

powers := {
	"trusted": {},
	"more than trusted": {"trust": 9},
	"not trusted": {"trust": 0},
	"not trusted, for reads": {"trust": 0, "rights": [{"classes": ["read", "approve"], "scope": {}}]},
	"not trusted, elsewhere": {"trust": 0, "rights": [elsewhere]},
	"not trusted, everywhere": {"trust": 0, "rights": [{"classes": ["reconcile"], "scope": {}}]},
	"not trusted, one right of two": {"trust": 0, "rights": [elsewhere, power.rights[0]]},
}

elsewhere := {"classes": ["write"], "scope": {"where": {"environment": ["staging"]}}}

test_a_root_gives_no_power_to_the_untrusted if {
	patch := array.concat(
		fixture.replaced("/resource/key", "remit:graph"),
		fixture.added("/governance", {
			"command": "GRANT", "root": true, "delegation": null, "revocation": null, "transfer": null,
			"power": object.union(power, {"trust": 0}),
		}),
	)

	"trust_too_low" in fixture.decide(patch).reasons
}

test_asks_nothing_where_no_power_is_given if {
	found := data.remit.power.reasons with input as facts({})

	found == set()
}

test_asks_nothing_where_power_is_null if {
	found := data.remit.power.reasons with input as facts({"power": null})

	found == set()
}

test_asks_nothing_of_other_requests if {
	found := data.remit.power.reasons with input as fixture.write

	found == set()
}
