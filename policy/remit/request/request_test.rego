# METADATA
# description: questions that cannot be asked
# scope: package
package remit.request_test

import data.remit.fixture_test as fixture

test_names_what_is_wrong_with_the_question if {
	{note: fixture.decide(patch).reasons | some note, patch in questions} == {
		"a fault that was found before": ["malformed_request"],
		"an action nobody declared": ["unknown_action"],
		"a resource nobody registered": ["unknown_resource"],
		"a key that is malformed": ["malformed_resource_key"],
		"a field nobody declared": ["unknown_field", "scope_not_covered"],
	}
}

questions := {
	"a fault that was found before": fixture.replaced("/request/faults", ["malformed_request"]),
	"an action nobody declared": fixture.replaced("/action/known", false),
	"a resource nobody registered": fixture.replaced("/resource/known", false),
	"a key that is malformed": array.concat(
		fixture.replaced("/resource/known", false),
		fixture.replaced("/request/faults", ["malformed_resource_key"]),
	),
	"a field nobody declared": fixture.replaced("/request/fields", ["colour"]),
}
