# METADATA
# description: the whole decision, one broken link at a time, two at once, and all of them
# scope: package
package remit.decision_test

import data.remit.decision
import data.remit.fixture_test as fixture

test_permits_when_every_question_is_answered if {
	fixture.decide([]) == fixture.executed
}

# S02: breaking each link in turn names that link, in the order of the questions.
test_refuses_with_the_code_of_the_link_when_one_is_broken if {
	fixture.surprises(broken_links) == {}
}

broken_links := {
	"request": {
		"patch": fixture.replaced("/request/faults", ["malformed_request"]),
		"expected": fixture.refused("deny", ["malformed_request"]),
	},
	"identity": {
		"patch": fixture.replaced("/identity/speaks_for", false),
		"expected": fixture.refused("deny", ["identity_mismatch"]),
	},
	"authority": {"patch": fixture.replaced("/chains", []), "expected": fixture.denied(["no_authority"])},
	"ownership": {
		"patch": fixture.replaced("/resource/ownership/0/frozen", true),
		"expected": fixture.refused("deny", ["owner_frozen"]),
	},
	"capability": {
		"patch": fixture.replaced("/action/risk", "HIGH"),
		"expected": fixture.refused("deny", ["capability_required"]),
	},
	"approval": {
		"patch": fixture.replaced("/approval", {
			"approval_id": "a1", "quorum": 1, "approvers": ["human:editor"], "current": false, "code": "approval_stale",
		}),
		"expected": fixture.refused("review_required", ["approval_stale"]),
	},
	"coordination": {
		"patch": fixture.replaced("/coordination/overlapping_cut", true),
		"expected": fixture.refused("wait", ["resource_busy"]),
	},
	"lease": {
		"patch": fixture.replaced("/coordination/presented", object.union(fixture.held, {"state": "not_held"})),
		"expected": fixture.refused("deny", ["lease_not_held"]),
	},
	"version": {
		"patch": fixture.replaced("/resource/version", "rev_332"),
		"expected": fixture.refused("rebase", ["stale_resource_version"]),
	},
}

test_names_both_when_two_links_are_broken if {
	patch := array.concat(
		fixture.replaced("/identity/authenticated", false),
		fixture.replaced("/resource/version", "rev_332"),
	)

	fixture.decide(patch) == fixture.refused("deny", ["unauthenticated", "stale_resource_version"])
}

# S01: authority, ownership and coordination over their eight combinations; only yes/yes/yes allows.
test_permits_only_when_authority_ownership_and_coordination_hold if {
	found := {failing: [document.outcome, document.reasons] |
		some failing in [
			[],
			["coordination"],
			["ownership"],
			["ownership", "coordination"],
			["authority"],
			["authority", "coordination"],
			["authority", "ownership"],
			["authority", "ownership", "coordination"],
		]
		document := fixture.decide([step | some question in failing; some step in failures[question]])
	}

	found == {
		[]: ["execute", []],
		["coordination"]: ["acquire", ["lease_required"]],
		["ownership"]: ["deny", ["not_owner"]],
		["ownership", "coordination"]: ["deny", ["not_owner", "lease_required"]],
		["authority"]: ["deny", ["delegation_expired"]],
		["authority", "coordination"]: ["deny", ["delegation_expired", "lease_required"]],
		["authority", "ownership"]: ["deny", ["delegation_expired", "not_owner"]],
		["authority", "ownership", "coordination"]: ["deny", ["delegation_expired", "not_owner", "lease_required"]],
	}
}

failures := {
	"authority": fixture.replaced("/chains/0/hops/1/valid_until", fixture.at),
	"ownership": array.concat(
		fixture.replaced("/resource/ownership/0/owner", "controller:git"),
		fixture.replaced("/resource/ownership/0/edge_id", "own-git"),
	),
	"coordination": fixture.replaced("/resource/concurrency", "WRITE_EXCLUSIVE"),
}

# S13: trust is per request; changing any of principal, action, resource or environment turns the permit into a deny.
test_denies_when_principal_action_resource_or_environment_changes if {
	fixture.surprises(changed_questions) == {}
}

changed_questions := {
	"principal": {
		"patch": fixture.replaced("/subject/principal", "instance:seo-agent-8"),
		"expected": fixture.denied(["principal_mismatch"]),
	},
	"action": {
		"patch": fixture.replaced("/action/name", "UPDATE_ROBOTS"),
		"expected": fixture.denied(["scope_not_covered"]),
	},
	"resource": {
		"patch": fixture.replaced("/resource/ancestors", ["site:example.org:robots", "site:example.org", "site"]),
		"expected": fixture.denied(["no_authority"]),
	},
	"environment": {
		"patch": fixture.replaced("/resource/dimensions/environment", {"graph": ["staging"], "context": "staging"}),
		"expected": fixture.denied(["scope_not_covered"]),
	},
}

# S14: neither a human nor a machine wins by being one.
test_decides_alike_when_only_the_kind_of_principal_differs if {
	{fixture.decide(fixture.replaced("/subject/kind", kind)) |
		some kind in ["human", "instance", "service"]
	} == {fixture.executed}
}

# S123: each check failing alone gives its documented outcome.
test_says_what_to_do_next_when_several_outcomes_are_asked_for if {
	found := {count(patches): document.outcome |
		some patches in [
			[worse[5]],
			[worse[5], worse[4]],
			[worse[5], worse[4], worse[3]],
			[worse[5], worse[4], worse[3], worse[2]],
			[worse[5], worse[4], worse[3], worse[2], worse[1]],
			[worse[5], worse[4], worse[3], worse[2], worse[1], worse[0]],
		]
		document := fixture.decide([step | some patch in patches; some step in patch])
	}

	found == {1: "acquire", 2: "wait", 3: "rebase", 4: "hold", 5: "review_required", 6: "deny"}
}

worse := [
	fixture.replaced("/identity/authenticated", false),
	fixture.replaced("/approval", {
		"approval_id": "a1", "quorum": 1, "approvers": [], "current": false, "code": "approval_stale",
	}),
	fixture.replaced("/coordination/presence", [{
		"actor": "human:editor", "fields": ["canonical"], "resource_key": "wp:post:1024",
	}]),
	fixture.replaced("/resource/version", "rev_332"),
	fixture.replaced("/coordination/overlapping_cut", true),
	fixture.replaced("/resource/concurrency", "WRITE_EXCLUSIVE"),
]

# Fail closed: what the table does not know ends it, and what cannot be evaluated denies.
test_denies_when_a_code_is_not_in_the_table if {
	document := fixture.decide([]) with data.remit.version.reasons as {"no_such_code"}

	document == fixture.refused("deny", [])
}

test_denies_with_result_undefined_when_the_revision_is_missing if {
	document := decision.decision with input as fixture.write
		with data.remit.revision as {}

	document == object.union(fixture.denied(["result_undefined"]), {"policy_revision": ""})
}

test_denies_when_the_input_is_empty if {
	fixture.decide_input({}) == fixture.denied([
		"unknown_action",
		"unknown_resource",
		"unauthenticated",
		"identity_mismatch",
		"unknown_subject",
		"subject_disabled",
		"no_authority",
	])
}
