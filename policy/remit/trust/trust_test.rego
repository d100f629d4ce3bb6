# METADATA
# description: who is trusted for what is handed on
# scope: package
package remit.trust_test

import data.remit.trust

config := {"write": {"production": 2, "staging": 1}, "reconcile": {"production": 3}}

low(value, classes, scope) if {
	trust.too_low(value, classes, scope) with data.remit.config.required_trust as config
}

production := {"where": {"environment": ["production"]}}

staging := {"where": {"environment": ["staging"]}}

# Just below, at and above what each place asks for (S31).
test_asks_for_what_each_environment_demands if {
	{note |
		some note, [value, classes, scope] in asked
		low(value, classes, scope)
	} == {
		"below, in production", "below, in staging", "below in one of two places", "below, everywhere",
		"below for one of two classes", "below, in places that are none",
	}
}

asked := {
	"below, in production": [1, ["write"], production],
	"at, in production": [2, ["write"], production],
	"above, in production": [3, ["write"], production],
	"below, in staging": [0, ["write"], staging],
	"at, in staging": [1, ["write"], staging],
	"below in one of two places": [1, ["write"], {"where": {"environment": ["staging", "production"]}}],
	"below, everywhere": [1, ["write"], {}],
	"at, everywhere": [2, ["write"], {}],
	"for another place alone": [0, ["write"], {"where": {"environment": ["development"]}}],
	"for another dimension alone": [2, ["write"], {"where": {"site": ["example.com"]}}],
	"below for one of two classes": [2, ["write", "reconcile"], production],
	"below, in places that are none": [1, ["write"], {"where": {"site": ["example.com"]}}],
	"for reads": [0, ["read", "approve"], {}],
	"for nothing": [0, [], {}],
}
