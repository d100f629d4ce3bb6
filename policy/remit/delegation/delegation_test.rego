# METADATA
# description: which delegations may be made
# scope: package
package remit.delegation_test

import data.remit.fixture_test as fixture

right := object.union(fixture.hop("d-seo", "MAY_DELEGATE", "controller:seo-control-plane", "role:seo-lead"), {
	"scope": fixture.delegated,
	"valid_until": fixture.at + fixture.hour,
	"max_depth": 2,
})

authority := object.union(fixture.hop("own-seo", "OWNS", "controller:seo-control-plane", "wp:post:*"), {
	"scope": {"fields": ["canonical", "meta_description"]},
})

ground := {"right": right, "authority": authority}

proposed := {
	"edge_id": "del_900",
	"from": "controller:seo-control-plane",
	"to": "role:seo-lead",
	"scope": fixture.delegated,
	"valid_from": fixture.at,
	"valid_until": fixture.at + fixture.hour,
	"max_depth": 1,
	"speaks": true,
	"cycle": false,
	"trust": 1,
	"classes": ["write"],
	"grounds": [ground],
}

codes(changes) := found if {
	delegation := object.union(object.remove(proposed, object.keys(changes)), changes)
	facts := fixture.changed(fixture.added("/governance", {
		"command": "DELEGATE",
		"root": false,
		"delegation": delegation,
		"revocation": null,
		"transfer": null,
	}))
	found := data.remit.delegation.reasons with input as facts
}

wider := object.union(fixture.delegated, {"fields": ["canonical", "body"]})

unbound := object.union(ground, {"right": object.union(right, {"valid_until": null, "max_depth": null})})

ended := object.union(ground, {"right": object.union(right, {"valid_until": fixture.at})})

test_judges_a_delegation_by_what_it_rests_on if {
	{note: codes(changes) | some note, changes in delegations} == {
		"within its ground": set(),
		"within one of two grounds": set(),
		"without an end, on a right without one": set(),
		"for another": {"no_authority"},
		"on nothing": {"no_authority"},
		"on a right that has ended": {"delegation_expired"},
		"on one that has ended beside a live one": set(),
		"back to where it came from": {"delegation_cycle"},
		"wider": {"attenuation_violated"},
		"longer": {"attenuation_violated"},
		"without an end": {"attenuation_violated"},
		"without an end, on a right that ends": {"attenuation_violated"},
		"earlier": {"attenuation_violated"},
		"as deep": {"depth_exceeded"},
		"to one that is not trusted": {"trust_too_low"},
	}
}

delegations := {
	"within its ground": {},
	"within one of two grounds": {
		"scope": fixture.delegated,
		"grounds": [object.union(ground, {"authority": object.union(authority, {"scope": {"fields": []}})}), ground],
	},
	"without an end, on a right without one": {"valid_until": null, "grounds": [unbound]},
	"for another": {"speaks": false},
	"on nothing": {"grounds": []},
	"on a right that has ended": {"grounds": [ended]},
	"on one that has ended beside a live one": {"grounds": [ended, ground]},
	"back to where it came from": {"cycle": true},
	"wider": {"scope": wider},
	"longer": {"valid_until": (fixture.at + fixture.hour) + 1},
	"without an end": {"valid_until": null},
	"without an end, on a right that ends": {"valid_until": null, "grounds": [ground]},
	"earlier": {
		"valid_from": null,
		"grounds": [object.union(ground, {"right": object.union(right, {"valid_from": fixture.at - 1})})],
	},
	"as deep": {"max_depth": 2},
	"to one that is not trusted": {"trust": 0},
}

test_asks_for_no_trust_where_production_is_not_written if {
	staging := object.union(fixture.delegated, {"where": {"environment": ["staging"]}})
	anywhere := object.remove(fixture.delegated, ["where"])
	grounds := [{"right": object.union(object.remove(right, ["scope"]), {"scope": {}}), "authority": authority}]

	codes({"trust": 0, "classes": ["read"]}) == set()
	codes({"trust": 0, "scope": staging, "grounds": grounds}) == set()
	codes({"trust": 0, "scope": anywhere, "grounds": grounds}) == {"trust_too_low"}
}

test_what_is_left_open_means_below_a_root_grant_what_the_grant_allows if {
	open := object.union(object.remove(right, ["scope"]), {"scope": {"actions": ["UPDATE_CANONICAL"]}})
	limited := object.union(object.remove(authority, ["scope"]), {"scope": {
		"fields": ["canonical"],
		"where": {"site": ["a"]},
		"conditions": [{"attribute": "risk", "at_most": "LOW"}, {"attribute": "mfa", "equals": true}],
	}})
	below := {"grounds": [{"right": open, "authority": limited}]}
	handed_on := {"grounds": [{"right": open, "authority": object.union(limited, {"edge": "DELEGATES"})}]}
	scopes := {
		"nothing but the action": {},
		"another site": {"where": {"site": ["b"]}},
		"a stronger condition": {"conditions": [{"attribute": "mfa", "equals": true}]},
		"another condition": {"conditions": [{"attribute": "mfa", "equals": false}]},
	}
	found := {name: codes(object.union(below, {"scope": object.union(more, {"actions": ["UPDATE_CANONICAL"]})})) |
		some name, more in scopes
	}

	found == {
		"nothing but the action": set(),
		"another site": {"attenuation_violated"},
		"a stronger condition": set(),
		"another condition": {"attenuation_violated"},
	}
	codes(object.union(handed_on, {"scope": {"actions": ["UPDATE_CANONICAL"]}})) == {"attenuation_violated"}
}

test_asks_nothing_of_other_requests if {
	found := data.remit.delegation.reasons with input as fixture.write

	found == set()
}
