# METADATA
# description: which of several chains a permit rests on
# scope: package
package remit.proof_test

import data.remit.fixture_test as fixture

expired := json.patch(fixture.chain, array.concat(
	fixture.replaced("/chain_id", "c0"),
	fixture.replaced("/hops/1/valid_until", fixture.at),
))

other := json.patch(fixture.chain, array.concat(
	fixture.replaced("/chain_id", "c2"),
	fixture.replaced("/hops/2/edge_id", "del_901"),
))

determining(chains, capability) := document.determining if {
	document := fixture.decide(array.concat(
		fixture.replaced("/chains", chains),
		fixture.replaced("/capability", capability),
	))
}

capability(edges) := {"capability_id": "cap_771", "valid": true, "code": null, "chain": edges, "matches": true}

test_rests_on_the_first_chain_that_fits if {
	determining([fixture.chain, other], null) == ["own-seo@1", "del_882@1", "del_900@1", "m-7@1"]
	determining([other, fixture.chain], null) == ["own-seo@1", "del_882@1", "del_901@1", "m-7@1"]
}

# An expired chain never spoils a good one.
test_passes_over_a_chain_that_fails if {
	determining([expired, other, fixture.chain], null) == ["own-seo@1", "del_882@1", "del_901@1", "m-7@1"]
}

test_rests_on_the_chain_of_the_capability if {
	determining(
		[fixture.chain, other],
		capability(["own-seo", "del_882", "del_901"]),
	) == ["own-seo@1", "del_882@1", "del_901@1", "m-7@1"]
}

test_rests_on_nothing_when_no_chain_fits if {
	determining([expired], null) == []
	determining([], null) == []
}
