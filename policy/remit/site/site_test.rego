# METADATA
# description: the site's own rules can refuse and demand, and never permit
# scope: package
package remit.site_test

import data.remit.fixture_test as fixture

freeze := {"rule": "freeze", "code": "change_freeze", "message": "nothing is published on a Sunday"}

test_refuses_with_the_code_of_the_site if {
	document := fixture.decide_at_site([], {"deny": {freeze}})

	document == object.union(fixture.refused("deny", ["policy_denied"]), {"site": [freeze]})
}

# A deny rule never widens: what was refused stays refused, with one reason more.
test_never_turns_a_refusal_into_a_permit if {
	document := fixture.decide_at_site(fixture.replaced("/chains", []), {
		"deny": {freeze},
		"obligations": {{"id": "notify", "type": "notify", "properties": {}}},
		"required_approvals": {{"rule": "two", "quorum": 2, "mode": "per_call"}},
	})

	document == object.union(
		fixture.denied(["no_authority", "approval_required", "policy_denied"]),
		{"site": [freeze], "approvals": [{"rule": "two", "quorum": 2, "mode": "per_call"}]},
	)
}

test_demands_the_approvals_of_the_site if {
	document := fixture.decide_at_site([], {
		"required_approvals": {{"rule": "two", "quorum": 2, "mode": "per_call"}},
	})

	document == object.union(
		fixture.refused("review_required", ["approval_required"]),
		{"approvals": [{"rule": "two", "quorum": 2, "mode": "per_call"}]},
	)
}

# rules.md 12: what a rule reads and does not find is an error of policy, never a rule that was skipped.
test_denies_with_an_error_that_names_rule_and_pointer if {
	{note: found |
		some note, pointers in reads
		document := fixture.decide_at_site([], {"requires": {"score": pointers}})
		found := [
			document.reasons,
			[[problem.pointer, problem.expected, problem.found] | some problem in document.policy_errors],
		]
	} == {
		"what is there": [[], []],
		"a whole number": [[], []],
		"an element of a list": [[], []],
		"a name with a slash and a tilde": [["policy_error"], [["/request/context/a~1b~0c", "string", "null"]]],
		"what is missing": [["policy_error"], [["/request/context/score", "number", "null"]]],
		"another type": [["policy_error"], [["/request/context/risk", "number", "string"]]],
		"a whole number that is none": [["policy_error"], [["/request/context/risk", "integer", "string"]]],
	}
}

reads := {
	"what is there": {"/request/context/risk": "string", "/resource/attributes": "object", "/approval": "null"},
	"a whole number": {"/request/at": "integer"},
	"an element of a list": {"/request/fields": "array"},
	"a name with a slash and a tilde": {"/request/context/a~1b~0c": "string"},
	"what is missing": {"/request/context/score": "number"},
	"another type": {"/request/context/risk": "number"},
	"a whole number that is none": {"/request/context/risk": "integer"},
}

test_reports_the_error_as_data if {
	document := fixture.decide_at_site([], {"requires": {"score": {"/request/context/score": "number"}}})

	document == object.union(fixture.refused("deny", ["policy_error"]), {"policy_errors": [{
		"rule": "score",
		"pointer": "/request/context/score",
		"expected": "number",
		"found": "null",
	}]})
}

test_denies_when_the_site_says_what_nobody_understands if {
	{note: [found.reasons, found.site] |
		some note, said in misspoken
		found := fixture.decide_at_site([], said)
	} == {
		"a denial that is a text": [["policy_denied", "policy_error"], []],
		"a denial without its code": [["policy_denied", "policy_error"], [freeze]],
		"an obligation without properties": [["policy_error"], []],
		"an approval without quorum": [["policy_error"], []],
		"an approval of another mode": [["policy_error"], []],
	}
}

misspoken := {
	"a denial that is a text": {"deny": {"freeze"}},
	"a denial without its code": {"deny": {freeze, {"rule": "x", "message": "y"}}},
	"an obligation without properties": {"obligations": {{"id": "a", "type": "b"}}},
	"an approval without quorum": {"required_approvals": {{"rule": "a", "mode": "per_call"}}},
	"an approval of another mode": {"required_approvals": {{"rule": "a", "mode": "once", "quorum": 1}}},
}
