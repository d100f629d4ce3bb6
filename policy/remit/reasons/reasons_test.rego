# METADATA
# description: the table of reasons is complete and consistent
# scope: package
package remit.reasons_test

import data.remit.decision

codes := [entry.code | some entry in data.remit.reasons.codes]

test_names_each_code_once if {
	count({code | some code in codes}) == count(codes)
}

test_gives_each_code_all_its_members if {
	{entry.code |
		some entry in data.remit.reasons.codes
		object.keys(entry) != {"code", "group", "outcome", "status", "resolver", "message", "fixed"}
	} == set()
}

test_uses_only_values_of_the_closed_sets if {
	{entry.group | some entry in data.remit.reasons.codes} == {
		"request", "identity", "authority", "ownership", "capability", "approval",
		"coordination", "preemption", "version", "site", "fault", "command",
	}
	{entry.resolver | some entry in data.remit.reasons.codes} == {
		"requester", "delegator", "owner", "operator", "human_reviewer", "wait",
	}
	{entry.status | some entry in data.remit.reasons.codes} == {400, 403, 404, 409, 410, 412, 422, 428, 429, 503}
	{entry.outcome |
		some entry in data.remit.reasons.codes
	} - ({outcome | some outcome in decision.order} | {"cell"}) == set()
}

# rules.md 7: failed identity, authority, ownership or capability and every fault are deny.
test_denies_for_identity_authority_ownership_capability_and_faults if {
	{entry.outcome |
		some entry in data.remit.reasons.codes
		entry.group in {"identity", "authority", "ownership", "capability", "site", "fault"}
	} == {"deny"}
}

# No outcome of a code permits the act itself; what is acquired or taken over comes first.
test_has_no_code_that_executes if {
	{entry.code | some entry in data.remit.reasons.codes; entry.outcome == "execute"} == set()
}
