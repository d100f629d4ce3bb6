# METADATA
# description: who asks
# scope: package
package remit.identity_test

import data.remit.fixture_test as fixture

test_names_what_is_wrong_with_who_asks if {
	{note: fixture.decide(patch).reasons | some note, patch in callers} == {
		"nobody proved to be anyone": ["unauthenticated"],
		"a caller that does not speak for the subject": ["identity_mismatch"],
		"a subject nobody knows": ["unknown_subject", "principal_mismatch"],
		"a subject that is disabled": ["subject_disabled"],
	}
}

callers := {
	"nobody proved to be anyone": fixture.replaced("/identity/authenticated", false),
	"a caller that does not speak for the subject": fixture.replaced("/identity/speaks_for", false),
	"a subject nobody knows": fixture.replaced("/subject/principal", null),
	"a subject that is disabled": fixture.replaced("/subject/disabled", true),
}
