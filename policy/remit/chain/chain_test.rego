# METADATA
# description: one chain, check by check
# scope: package
package remit.chain_test

import data.remit.chain
import data.remit.fixture_test as fixture

# What the fixture's request asks, as `remit.authority` puts it.
asked := found if {
	found := data.remit.authority.asked with input as fixture.write
}

patched(patch) := json.patch(fixture.chain, patch)

test_holds_when_every_edge_covers_the_request if {
	chain.holds(fixture.chain, asked)
}

test_holds_at_the_edges_of_what_is_allowed if {
	{note | some note, patch in allowed; chain.holds(patched(patch), asked)} == object.keys(allowed)
}

allowed := {
	"a window that begins now": fixture.replaced("/hops/1/valid_from", fixture.at),
	"a window that ends next": fixture.replaced("/hops/1/valid_until", fixture.at + 1),
	"an epoch at the floor": fixture.replaced("/hops/0/epoch", 90),
	"depth that is used up": fixture.replaced("/hops/1/max_depth", 1),
	"no bound of depth": fixture.replaced("/hops/2/max_depth", null),
	"a grant of an owner": fixture.replaced("/hops/0/issuer_standing", "owner"),
	"a part given away elsewhere": fixture.replaced("/hops/0/except", ["wp:post:7"]),
	"a membership of a team at the end": fixture.replaced("/memberships/0/edge", "MEMBER_OF"),
	"no membership": array.concat(
		fixture.replaced("/memberships", []),
		fixture.replaced("/hops/2/to", "instance:seo-agent-7"),
	),
	"acting for the delegator in between": acting_between("ACTS_AS"),
	"just enough trust": fixture.replaced("/hops/2/trust", 1),
}

acting_between(edge) := array.concat(
	fixture.replaced("/hops/2/from", "instance:lead-1"),
	fixture.added("/memberships/0", object.union(fixture.chain.memberships[0], {
		"edge_id": "m-lead",
		"edge": edge,
		"from": "instance:lead-1",
		"to": "role:seo-lead",
		"after": 1,
	})),
)

test_breaks_at_the_check_that_fails if {
	{note | some note, patch in broken; chain.holds(patched(patch), asked)} == set()
}

broken := {
	"a window that ends now": fixture.replaced("/hops/1/valid_until", fixture.at),
	"a window that begins next": fixture.replaced("/hops/2/valid_from", fixture.at + 1),
	"a membership that has ended": fixture.replaced("/memberships/0/valid_until", fixture.at),
	"a membership that has not begun": fixture.replaced("/memberships/0/valid_from", fixture.at + 1),
	"an epoch below the floor": fixture.replaced("/hops/0/epoch", 89),
	"a membership below the floor": fixture.replaced("/memberships/0/epoch", 89),
	"a disabled end": fixture.replaced("/hops/1/disabled", true),
	"a disabled member": fixture.replaced("/memberships/0/disabled", true),
	"one delegation too many": fixture.replaced("/hops/1/max_depth", 0),
	"a root of another class": fixture.replaced("/hops/0/edge", "MAY_READ"),
	"a root that is none": fixture.replaced("/hops/0/edge", "DELEGATES"),
	"a delegation that is none": fixture.replaced("/hops/1/edge", "MAY_DELEGATE"),
	"an issuer without standing": fixture.replaced("/hops/0/issuer_standing", "none"),
	"a root over another resource": fixture.replaced("/hops/0/to", "wp:page:*"),
	"a part given away": fixture.replaced("/hops/0/except", ["wp:post:1024"]),
	"a part given away above": fixture.replaced("/hops/0/except", ["site:*:product-pages"]),
	"a gap between delegations": fixture.replaced("/hops/2/from", "role:editor"),
	"a gap at the end": fixture.replaced("/memberships/0/to", "role:editor"),
	"another root": fixture.replaced("/root", "controller:git"),
	"authority handed on by a member": acting_between("MEMBER_OF"),
	"the org chart": fixture.replaced("/memberships/0/edge", "REPORTS_TO"),
	"too little trust": fixture.replaced("/hops/2/trust", 0),
	"a parent that covers less": fixture.replaced("/hops/1/scope/fields", ["title"]),
	"a child that covers less": fixture.replaced("/hops/2/scope/fields", ["title"]),
}

# The one walk of `holds`, and the checks that say why a chain fails, are the same law.
test_holds_exactly_where_each_single_check_passes if {
	{note | some note, patch in object.union(allowed, broken); passes(patched(patch))} == object.keys(allowed)
}

passes(candidate) if {
	chain.live(candidate.hops, asked.at)
	chain.live(candidate.memberships, asked.at)
	chain.rooted(candidate, asked)
	chain.joined(candidate, asked)
	chain.claimed(candidate, asked)
	chain.shallow(candidate)
	chain.trusted(candidate, asked)
	chain.covered(candidate, asked)
}

# I11: nothing the child may do is forbidden to a parent, at any depth.
test_never_covers_more_than_a_parent if {
	{position |
		some position, _ in fixture.chain.hops
		chain.covered(patched(fixture.replaced(sprintf("/hops/%v/scope", [position]), {"actions": ["OTHER"]})), asked)
	} == set()
}

test_conveys_each_class_by_its_own_kind_of_root if {
	{[root.edge, class] |
		some edge in ["OWNS", "MAY_READ", "MAY_WRITE", "MAY_APPROVE", "MAY_RECONCILE", "MAY_PREEMPT", "REPORTS_TO"]
		root := {"edge": edge}
		some class in ["read", "write", "approve", "reconcile"]
		chain.rooted(patched(fixture.replaced("/hops/0/edge", edge)), object.union(asked, {"class": class}))
	} == {
		["OWNS", "read"],
		["OWNS", "write"],
		["OWNS", "approve"],
		["OWNS", "reconcile"],
		["MAY_READ", "read"],
		["MAY_WRITE", "write"],
		["MAY_APPROVE", "approve"],
		["MAY_RECONCILE", "reconcile"],
	}
}

test_follows_only_the_chain_that_is_claimed if {
	{note | some note, context in claims; chain.claimed(fixture.chain, {"context": context})} == {
		"nothing",
		"its root",
		"its edges",
	}
}

claims := {
	"nothing": {},
	"its root": {"on_behalf_of": "controller:seo-control-plane"},
	"another root": {"on_behalf_of": "controller:git"},
	"its edges": {"proof": ["own-seo", "del_882", "del_900"]},
	"fewer edges": {"proof": ["own-seo", "del_882"]},
	"no edge": {"proof": []},
}

test_lives_exactly_where_each_single_check_passes if {
	{note | some note, edges in lives; chain.live(edges, fixture.at)} == {"well"}
	{note | some note, edges in lives; chain.enabled(edges)} == object.keys(lives) - {"disabled"}
	{note | some note, edges in lives; chain.fresh(edges)} == object.keys(lives) - {"stale"}
	{note | some note, edges in lives; chain.lasting(edges, fixture.at)} == object.keys(lives) - {"ended"}
	{note | some note, edges in lives; chain.begun(edges, fixture.at)} == object.keys(lives) - {"to come"}
	{note: chain.end_of(edges, fixture.at) | some note, edges in lives; note != "well"} == {
		"disabled": "delegation_revoked",
		"stale": "stale_authority_epoch",
		"ended": "delegation_expired",
		"to come": "delegation_not_yet_valid",
	}
}

lives := {
	"well": fixture.chain.hops,
	"disabled": json.patch(fixture.chain.hops, fixture.replaced("/1/disabled", true)),
	"stale": json.patch(fixture.chain.hops, fixture.replaced("/1/epoch", 1)),
	"ended": json.patch(fixture.chain.hops, fixture.replaced("/1/valid_until", fixture.at)),
	"to come": json.patch(fixture.chain.hops, fixture.replaced("/1/valid_from", fixture.at + 1)),
}

test_cites_edges_with_their_versions_root_first if {
	chain.positions(fixture.chain) == ["own-seo@1", "del_882@1", "del_900@1", "m-7@1"]
}
