# METADATA
# description: containment of scopes and selectors
# scope: package
package remit.attenuation_test

import data.remit.attenuation

parent := {
	"actions": ["UPDATE_POST", "UPDATE_SEO"],
	"resources": ["site:102:product-pages", "wp:post:*"],
	"fields": ["title", "meta_description"],
	"where": {"environment": ["production", "staging"]},
	"conditions": [{"attribute": "risk", "at_most": "MEDIUM"}],
}

test_contains_what_keeps_or_narrows if {
	{name | some name, child in contained; attenuation.contains_scope(parent, child)} == object.keys(contained)
}

contained := {
	"itself": parent,
	"fewer actions": object.union(parent, {"actions": ["UPDATE_SEO"]}),
	"a part below": object.union(parent, {"resources": ["site:102:product-pages:p1"]}),
	"one of the wildcard": object.union(parent, {"resources": ["wp:post:7"]}),
	"narrowed twice": object.union(parent, {"resources": [["wp:post:*"], ["site:102"]]}),
	"fewer fields": object.union(parent, {"fields": ["title"]}),
	"fewer places": object.union(parent, {"where": {"environment": ["staging"], "site": ["example.com"]}}),
	"a stricter condition": object.union(parent, {"conditions": [{"attribute": "risk", "at_most": "LOW"}]}),
	"one more condition": object.union(parent, {"conditions": [
		{"attribute": "mfa", "equals": true},
		{"attribute": "risk", "at_most": "MEDIUM"},
	]}),
	"what covers no action": {"actions": []},
	"what covers no resource": {"resources": []},
	"what covers no resource of one list": {"resources": [["wp"], []]},
	"what covers no place": {"where": {"environment": []}},
}

test_names_the_dimensions_when_a_child_widens if {
	{name: attenuation.exceeded(parent, child) | some name, child in widened} == {
		"more actions": {"actions"},
		"open actions": {"actions"},
		"a resource above": {"resources"},
		"another resource": {"resources"},
		"a wildcard over one": {"resources"},
		"open resources": {"resources"},
		"more fields": {"fields"},
		"another place": {"where"},
		"open places": {"where"},
		"a weaker condition": {"conditions"},
		"a condition off the scale": {"conditions"},
		"no condition": {"conditions"},
		"everything": {"actions", "resources", "fields", "where", "conditions"},
	}
}

widened := {
	"more actions": object.union(parent, {"actions": ["UPDATE_SEO", "DELETE_POST"]}),
	"open actions": object.remove(parent, ["actions"]),
	"a resource above": object.union(parent, {"resources": ["site:102"]}),
	"another resource": object.union(parent, {"resources": ["wp:post:7", "wp:page:7"]}),
	"a wildcard over one": object.union(parent, {"resources": ["site:102:*"]}),
	"open resources": object.remove(parent, ["resources"]),
	"more fields": object.union(parent, {"fields": ["title", "body"]}),
	"another place": object.union(parent, {"where": {"environment": ["preview"]}}),
	"open places": object.remove(parent, ["where"]),
	"a weaker condition": object.union(parent, {"conditions": [{"attribute": "risk", "at_most": "HIGH"}]}),
	"a condition off the scale": object.union(parent, {"conditions": [{"attribute": "risk", "at_most": "EXTREME"}]}),
	"no condition": object.remove(parent, ["conditions"]),
	"everything": {},
}

test_contains_nothing_where_the_outer_is_not_understood if {
	attenuation.exceeded({"budget": 5}, parent) == {"budget"}
}

test_contains_nothing_where_the_outer_covers_nothing if {
	attenuation.exceeded({"resources": []}, parent) == {"resources"}
	attenuation.exceeded({"actions": []}, parent) == {"actions"}
}

test_implies_by_the_same_operator_only if {
	{pair | some pair in pairs; attenuation.contains_scope({"conditions": [pair[0]]}, {"conditions": [pair[1]]})} == {
		[{"attribute": "purpose", "in": ["SEO", "TEXT"]}, {"attribute": "purpose", "in": ["SEO"]}],
		[{"attribute": "incident.severity", "at_least": "SEV2"}, {"attribute": "incident.severity", "at_least": "SEV1"}],
		[{"attribute": "score", "at_least": 3}, {"attribute": "score", "at_least": 4}],
	}
}

pairs := {
	[{"attribute": "purpose", "in": ["SEO", "TEXT"]}, {"attribute": "purpose", "in": ["SEO"]}],
	[{"attribute": "purpose", "in": ["SEO"]}, {"attribute": "purpose", "equals": "SEO"}],
	[{"attribute": "purpose", "in": ["SEO"]}, {"attribute": "purpose", "in": ["SEO", "TEXT"]}],
	[{"attribute": "incident.severity", "at_least": "SEV2"}, {"attribute": "incident.severity", "at_least": "SEV1"}],
	[{"attribute": "score", "at_least": 3}, {"attribute": "score", "at_least": 4}],
	[{"attribute": "score", "at_least": 3}, {"attribute": "level", "at_least": 4}],
}

test_contains_selectors_segment_by_segment if {
	{pair | some pair in selectors; attenuation.contains_selector(pair[0], pair[1])} == {
		["wp:post", "wp:post:7"],
		["wp:post:*", "wp:post:7"],
		["wp:post:*", "wp:post:*"],
		["wp:*:7", "wp:post:7:title"],
	}
}

selectors := {
	["wp:post", "wp:post:7"],
	["wp:post:7", "wp:post"],
	["wp:post:*", "wp:post:7"],
	["wp:post:7", "wp:post:*"],
	["wp:post:*", "wp:post:*"],
	["wp:*:7", "wp:post:7:title"],
	["wp:post:1", "wp:post:10"],
	["wp:post:*", "wp:post"],
}
