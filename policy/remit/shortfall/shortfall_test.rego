# METADATA
# description: which reason speaks when no chain fits
# scope: package
package remit.shortfall_test

import data.remit.fixture_test as fixture

codes(patch) := fixture.decide(patch).reasons

test_names_the_first_check_that_a_chain_fails if {
	{note: codes([step | some step in patch]) | some note, patch in failing} == {
		"no root of the class": ["no_authority", "not_owner"],
		"no root over the resource": ["no_authority"],
		"another subject": ["principal_mismatch"],
		"another root than claimed": ["principal_mismatch"],
		"an end that is disabled": ["delegation_revoked"],
		"an old epoch": ["stale_authority_epoch"],
		"an end in time": ["delegation_expired"],
		"a beginning in time": ["delegation_not_yet_valid"],
		"too deep": ["depth_exceeded"],
		"a later edge that claims more": ["attenuation_violated"],
		"a later place that claims more": ["attenuation_violated"],
		"an action nobody names": ["scope_not_covered"],
		"a place nobody names": ["scope_not_covered"],
		"a dimension of scopes": ["condition_unknown"],
		"a dimension of the world": ["condition_unknown"],
		"a condition": ["condition_not_met"],
		"trust": ["trust_too_low"],
	}
}

failing := {
	"no root of the class": fixture.replaced("/chains/0/hops/0/edge", "MAY_READ"),
	"no root over the resource": fixture.replaced("/chains/0/hops/0/to", "wp:page:*"),
	"another subject": fixture.replaced("/subject/principal", "instance:seo-agent-8"),
	"another root than claimed": fixture.added("/request/context/on_behalf_of", "controller:git"),
	"an end that is disabled": fixture.replaced("/chains/0/hops/1/disabled", true),
	"an old epoch": fixture.replaced("/chains/0/hops/1/epoch", 89),
	"an end in time": fixture.replaced("/chains/0/hops/1/valid_until", fixture.at),
	"a beginning in time": fixture.replaced("/chains/0/hops/1/valid_from", fixture.at + 1),
	"too deep": fixture.replaced("/chains/0/hops/1/max_depth", 0),
	"a later edge that claims more": fixture.replaced("/chains/0/hops/1/scope/actions", ["UPDATE_ROBOTS"]),
	"a later place that claims more": fixture.replaced("/chains/0/hops/1/scope/where/site", ["example.org"]),
	"an action nobody names": fixture.replaced("/action/name", "UPDATE_ROBOTS"),
	"a place nobody names": fixture.replaced("/resource/dimensions/site/graph", ["example.org"]),
	"a dimension of scopes": fixture.added("/chains/0/hops/2/scope/budget", 5),
	"a dimension of the world": fixture.added("/chains/0/hops/2/scope/where/tenant", ["acme"]),
	"a condition": fixture.replaced("/request/context/risk", "HIGH"),
	"trust": fixture.replaced("/chains/0/hops/1/trust", 0),
}

# S22: LOW and MEDIUM pass, HIGH and absent are not met, a value outside the scale is unknown.
test_judges_the_condition_on_risk_by_the_scale if {
	{risk: codes(fixture.replaced("/request/context/risk", risk)) | some risk in ["LOW", "MEDIUM", "HIGH", "EXTREME"]} == {
		"LOW": [],
		"MEDIUM": [],
		"HIGH": ["condition_not_met"],
		"EXTREME": ["condition_unknown"],
	}
	codes([{"op": "remove", "path": "/request/context/risk"}]) == ["condition_not_met"]
}

near(reason, rank, root) := {
	"chain_id": "n1",
	"hops": [
		root,
		{"edge_id": "del_882", "version": 1, "edge": "DELEGATES", "from": root.from, "to": "instance:seo-agent-7"},
	],
	"failed_hop": "del_882@1",
	"reason": reason,
	"rank": rank,
}

own := {"edge_id": "own-seo", "version": 1, "edge": "OWNS", "from": "controller:seo-control-plane", "to": "wp:post:*"}

foreign := {"edge_id": "own-old", "version": 1, "edge": "OWNS", "from": "controller:plugin", "to": "wp:post:*"}

granted := {"edge_id": "g-1", "version": 1, "edge": "MAY_WRITE", "from": "role:editor", "to": "wp:post:*"}

test_lets_the_chain_that_came_furthest_speak if {
	{note: codes(array.concat(fixture.replaced("/chains", []), fixture.replaced("/near_misses", rows))) |
		some note, rows in nearly
	} == {
		"one": ["delegation_expired"],
		"the furthest of two": ["scope_not_covered"],
		"both of equal reach": ["delegation_expired", "delegation_not_yet_valid"],
		"a foreign root": ["delegation_revoked", "not_owner"],
		"an old root": ["delegation_revoked", "not_owner", "stale_ownership_epoch"],
		"a foreign root beside the owner's": ["delegation_revoked"],
		"a grant of before": ["delegation_revoked", "stale_ownership_epoch"],
		"a grant that rests on nobody": ["delegation_revoked", "not_owner"],
		"a grant seen from afar": ["delegation_revoked"],
	}
}

nearly := {
	"one": [near("delegation_expired", 4, own)],
	"the furthest of two": [near("delegation_expired", 4, own), near("scope_not_covered", 8, own)],
	"both of equal reach": [near("delegation_expired", 4, own), near("delegation_not_yet_valid", 4, own)],
	"a foreign root": [near("delegation_revoked", 1, foreign)],
	"an old root": [near("delegation_revoked", 1, object.union(foreign, {"ownership_epoch": 8}))],
	"a foreign root beside the owner's": [near("delegation_revoked", 1, foreign), near("delegation_revoked", 1, own)],
	"a grant of before": [
		near("delegation_revoked", 1, object.union(granted, {"rests_on": [{"edge_id": "own-seo", "ownership_epoch": 8}]})),
	],
	"a grant that rests on nobody": [near("delegation_revoked", 1, object.union(granted, {"rests_on": []}))],
	"a grant seen from afar": [near("delegation_revoked", 1, granted)],
}

test_says_what_cut_the_search_when_nothing_was_found if {
	{note: codes(array.concat(fixture.replaced("/chains", []), fixture.replaced("/search", search))) |
		some note, search in searches
	} == {
		"nothing": ["no_authority"],
		"the bound of depth": ["depth_exceeded"],
		"the bound of chains": ["proof_search_truncated"],
	}
}

searches := {
	"nothing": {"truncated": false, "depth_bound_hit": false},
	"the bound of depth": {"truncated": false, "depth_bound_hit": true},
	"the bound of chains": {"truncated": true, "depth_bound_hit": true},
}

test_says_that_there_would_have_been_more_when_no_candidate_fits if {
	patch := array.concat(
		fixture.replaced("/chains/0/hops/1/trust", 0),
		fixture.replaced("/search/truncated", true),
	)

	codes(patch) == ["trust_too_low", "proof_search_truncated"]
}

# No union of chains: what one lacks another does not lend.
test_denies_when_one_chain_has_the_authority_and_another_the_owner if {
	second := object.union(fixture.chain, {
		"chain_id": "c2", "hops": json.patch(fixture.chain.hops, array.concat(
			fixture.replaced("/0/edge_id", "own-old"),
			fixture.replaced("/0/from", "controller:plugin"),
		)),
		"root": "controller:plugin",
	})
	patch := array.concat(
		fixture.replaced("/chains/0/hops/1/valid_until", fixture.at),
		fixture.added("/chains/1", json.patch(second, fixture.replaced("/hops/1/from", "controller:plugin"))),
	)

	fixture.decide(patch) == fixture.denied(["not_owner"])
}

test_falls_back_to_no_authority_when_nothing_else_is_lacking if {
	found := data.remit.shortfall.reasons with input as fixture.changed(fixture.replaced("/chains", []))
		with data.remit.shortfall.lacking as set()

	found == {"no_authority"}
}
