# METADATA
# description: what scopes cover, dimension by dimension
# scope: package
package remit.scope_test

import data.remit.scope

# The request that scopes are compared with: a post that is part of the product pages of a site.
asked := {
	"action": "UPDATE_CANONICAL",
	"fields": ["canonical"],
	"keys": ["wp:post:1024", "wp:post", "wp", "site:102:product-pages", "site:102", "site"],
	"dimensions": {"environment": {}, "site": {}, "resource_type": {}},
	"place": {"environment": "production", "site": "example.com"},
	"attributes": {
		"context": [{"risk": "MEDIUM", "mfa": true, "score": 7, "ratio": 0.5, "level": "NOVEL", "none": null, "user": "ann"}],
		"subject": [{"trust": 2, "kind": "instance"}, {"email": "ann@acme.test"}],
		"resource": [{"owner": "ann"}, {"owner": "bob", "draft": true}],
		"action": [{"risk": "LOW"}, {}],
	},
	"incidents": [],
}

whole := object.union(asked, {"fields": []})

troubled := object.union(
	asked,
	{"incidents": [{"severity": "SEV2", "kind": "noindex"}, {"severity": "SEV1", "kind": "outage"}]},
)

test_covers_exactly_the_scopes_that_name_the_request if {
	{name | some name, limits in covering; scope.covers(limits, asked)} == object.keys(covering)
}

covering := {
	"open": {},
	"its action": {"actions": ["OTHER", "UPDATE_CANONICAL"]},
	"its key": {"resources": ["wp:post:1024"]},
	"an ancestor": {"resources": ["site:102"]},
	"a wildcard at the end": {"resources": ["wp:post:*"]},
	"a wildcard in the middle": {"resources": ["wp:*:1024"]},
	"a wildcard of an ancestor": {"resources": ["site:*:product-pages"]},
	"every list of several": {"resources": [["wp:post:*"], ["site:102", "site:103"]]},
	"its field among others": {"fields": ["body", "canonical"]},
	"its dimensions": {"where": {"environment": ["production", "staging"], "site": ["example.com"]}},
	"a condition that is met": {"conditions": [{"attribute": "risk", "at_most": "MEDIUM"}]},
}

test_covers_nothing_outside if {
	{name | some name, limits in outside; scope.covers(limits, asked)} == set()
}

outside := {
	"another action": {"actions": ["UPDATE_ROBOTS"]},
	"no action": {"actions": []},
	"another key": {"resources": ["wp:post:1025"]},
	"a longer key": {"resources": ["wp:post:1024:title"]},
	"a text prefix": {"resources": ["wp:post:10"]},
	"a segment that only begins alike": {"resources": ["site:102:product"]},
	"a wildcard too few": {"resources": ["*:1024"]},
	"a wildcard in another order": {"resources": ["post:wp:*"]},
	"no resource": {"resources": []},
	"an empty list among lists": {"resources": [["wp:post:*"], []]},
	"one list of two": {"resources": [["wp:post:*"], ["site:103"]]},
	"a list and a selector": {"resources": [["wp:post:*"], "site:102"]},
	"another field": {"fields": ["body"]},
	"no field": {"fields": []},
	"another environment": {"where": {"environment": ["staging"]}},
	"no environment": {"where": {"environment": []}},
	"a dimension nobody placed": {"where": {"resource_type": ["product_page"]}},
	"a dimension nobody declared": {"where": {"tenant": ["acme"]}},
	"a dimension of scopes nobody knows": {"budget": 5},
	"a condition that is not met": {"conditions": [{"attribute": "risk", "at_most": "LOW"}]},
}

test_covers_the_whole_resource_only_without_fields if {
	not scope.covers({"fields": ["canonical"]}, whole)
	scope.covers({"resources": ["wp"]}, whole)
}

test_meets_exactly_the_conditions_that_hold if {
	{name | some name, condition in met; scope.met(condition, asked.attributes)} == object.keys(met)
}

met := {
	"equal": {"attribute": "mfa", "equals": true},
	"in": {"attribute": "subject.kind", "in": ["human", "instance"]},
	"at most, on the scale": {"attribute": "risk", "at_most": "MEDIUM"},
	"at least, on the scale": {"attribute": "risk", "at_least": "LOW"},
	"at most, by number": {"attribute": "score", "at_most": 7},
	"at least, by number": {"attribute": "context.score", "at_least": 7},
	"a name of the scale against a number": {"attribute": "subject.trust", "at_least": "TRUSTED"},
	"the declared risk": {"attribute": "action.risk", "at_most": "LOW"},
	"two attributes alike": {"attribute": "resource.owner", "equals_attribute": "user"},
	"what the graph lacks, from the request": {"attribute": "resource.draft", "equals": true},
}

test_meets_no_condition_that_is_missing_wrong_or_unknown if {
	{name | some name, condition in unmet; scope.met(condition, asked.attributes)} == set()
}

unmet := {
	"another value": {"attribute": "mfa", "equals": false},
	"a number for a truth": {"attribute": "mfa", "equals": 1},
	"a missing attribute": {"attribute": "device", "equals": "laptop"},
	"an attribute that is null": {"attribute": "none", "equals": null},
	"not among": {"attribute": "subject.kind", "in": ["human"]},
	"in no list": {"attribute": "subject.kind", "in": "instance"},
	"too high": {"attribute": "risk", "at_most": "LOW"},
	"too low": {"attribute": "risk", "at_least": "HIGH"},
	"a value off the scale": {"attribute": "risk", "at_most": "EXTREME"},
	"an attribute off the scale": {"attribute": "context.level", "at_most": "HIGH"},
	"a fraction": {"attribute": "ratio", "at_most": 1},
	"a text compared with a number": {"attribute": "user", "at_most": 7},
	"what the request says against the graph": {"attribute": "resource.owner", "equals": "bob"},
	"two attributes apart": {"attribute": "resource.owner", "equals_attribute": "subject.email"},
	"an attribute that is no path": {"attribute": "user", "equals_attribute": 5},
	"an unknown root": {"attribute": "weather.wind", "equals": "calm"},
	"an unknown operator": {"attribute": "risk", "matches": "M.*"},
	"two operators": {"attribute": "risk", "at_most": "HIGH", "at_least": "LOW"},
	"no operator": {"attribute": "risk"},
}

# One incident must meet all conditions that speak of one.
test_meets_conditions_on_an_incident_only_by_one_that_meets_them_all if {
	limits := {
		"conditions": [
			{"attribute": "incident.severity", "at_least": "SEV1"},
			{"attribute": "incident.kind", "equals": "outage"},
		],
	}
	mixed := {
		"conditions": [
			{"attribute": "incident.severity", "at_least": "SEV1"},
			{"attribute": "incident.kind", "equals": "noindex"},
		],
	}

	scope.covers(limits, troubled)
	not scope.covers(mixed, troubled)
	not scope.covers(limits, asked)
}

test_understands_exactly_what_it_knows if {
	{name | some name, limits in understood; scope.understood(limits, asked)} == object.keys(understood)
	{name | some name, limits in unknown; scope.understood(limits, asked)} == set()
}

understood := {
	"every dimension": object.union(outside["another key"], {"actions": [], "fields": ["body"], "where": {"site": []}}),
	"a missing attribute": {"conditions": [{"attribute": "device", "equals": "laptop"}]},
	"an attribute on the scale": {
		"conditions": [{"attribute": "risk", "at_most": "LOW"}, {"attribute": "action.risk", "at_least": "HIGH"}],
	},
}

unknown := {
	"a dimension of scopes": {"budget": 5},
	"a declared dimension": {"where": {"tenant": ["acme"]}},
	"an operator": {"conditions": [{"attribute": "risk", "matches": "M.*"}]},
	"an operand off the scale": {"conditions": [{"attribute": "risk", "at_most": "EXTREME"}]},
	"a value off the scale": {"conditions": [{"attribute": "level", "at_most": "HIGH"}]},
	"a scale": {"conditions": [{"attribute": "user", "at_most": "ann"}]},
	"a root": {"conditions": [{"attribute": "weather.wind", "equals": "calm"}]},
	"two operators": {"conditions": [{"attribute": "risk", "at_most": "HIGH", "at_least": "LOW"}]},
}
