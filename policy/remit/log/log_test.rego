# METADATA
# description: what the decision log does not show
# scope: package
package remit.log_test

import data.remit.fixture_test as fixture
import data.remit.log

event(patch) := {"input": fixture.changed(patch), "result": fixture.executed}

test_masks_secrets_and_personal_attributes if {
	patch := array.concat(
		fixture.added("/request/context/token", "t0p-s3cret"),
		array.concat(
			fixture.added("/request/context/capability", {"capability_id": "cap_771", "token": "t0p-s3cret"}),
			array.concat(
				fixture.added("/subject/attributes/email", "ann@acme.test"),
				fixture.added("/request/resource/properties/phone", "555"),
			),
		),
	)
	logged := event(patch)
	found := log.mask with input as logged

	found == {
		"/input/request/context/token",
		"/input/request/context/capability/token",
		"/input/subject/attributes/email",
		"/input/request/resource/properties/phone",
	}
}

test_writes_pointers_with_their_escapes if {
	logged := event(fixture.added("/request/context/a~1b~0c", 1))
	found := log.mask with input as logged
		with data.remit.config.masked as {"context": ["a/b~c"], "attributes": []}

	found == {"/input/request/context/a~1b~0c"}
}

test_masks_nothing_where_nothing_is_secret if {
	logged := event([])
	found := log.mask with input as logged

	found == set()
}
