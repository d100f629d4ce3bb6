# METADATA
# description: the merge policies, pair by pair
# scope: package
package remit.merge_test

import data.remit.fixture_test as fixture
import data.remit.merge

# The result between a request on `fields` and a lease, by their merge policies.
results(fields, lease, changes) := found if {
	theirs := object.union(fixture.lease, lease)
	found := judged(theirs) with input as facts(fields, changes)
}

judged(lease) := {merge.result(part, lease) | some part in merge.parts}

facts(fields, changes) := json.patch(fixture.write, array.concat(fixture.replaced("/request/fields", fields), changes))

exclusive := fixture.replaced("/resource/concurrency", "WRITE_EXCLUSIVE")

# S90: each policy with its pair.
test_follows_the_declared_policy_of_each_field if {
	{note: results(pair.fields, pair.lease, object.get(pair, "changes", [])) | some note, pair in pairs} == {
		"an exclusive field twice": {"serialize"},
		"a versioned field twice": {"serialize"},
		"two versioned fields": {"compatible"},
		"two independent fields of one domain": {"compatible"},
		"two independent fields of two domains": {"compatible"},
		"a field beside one that is not independent": {"serialize"},
		"a field that is not independent beside another": {"serialize"},
		"a field beside the whole resource": {"serialize"},
		"the whole resource beside a field": {"serialize"},
		"a field without policy, where nothing locks": {"reject"},
		"a field without policy, where every write locks": {"serialize"},
		"a field of the domain of its action": {"serialize"},
		"a field without any domain, elsewhere": {"escalate"},
		"a field that nobody declared": {"escalate"},
	}
}

pairs := {
	"an exclusive field twice": {"fields": ["canonical"], "lease": {}},
	"a versioned field twice": {
		"fields": ["meta_description"],
		"lease": {"fields": ["meta_description"], "domain": "SEO_METADATA"},
	},
	"two versioned fields": {
		"fields": ["meta_description"],
		"lease": {"fields": ["featured_image"], "domain": "DATABASE_SCHEMA", "merge": "field_versioned"},
	},
	"two independent fields of one domain": {
		"fields": ["meta_description"],
		"lease": {"fields": ["canonical"], "domain": "SEO_METADATA"},
	},
	"two independent fields of two domains": {
		"fields": ["canonical"],
		"lease": {"fields": ["body"], "domain": "CONTENT_BODY"},
	},
	"a field beside one that is not independent": {
		"fields": ["body"],
		"lease": {"fields": ["slug"], "domain": "URL_ROUTING"},
	},
	"a field that is not independent beside another": {
		"fields": ["slug"],
		"lease": {"fields": ["body"], "domain": "CONTENT_BODY"},
	},
	"a field beside the whole resource": {"fields": ["canonical"], "lease": {"fields": [], "domain": "CONTENT_BODY"}},
	"the whole resource beside a field": {
		"fields": [],
		"lease": {"relation": "same"},
		"changes": fixture.replaced("/resource/type_fields/slug/domain", null),
	},
	"a field without policy, where nothing locks": {
		"fields": ["canonical"],
		"lease": {},
		"changes": fixture.replaced("/resource/type_fields/canonical/merge", null),
	},
	"a field without policy, where every write locks": {
		"fields": ["canonical"],
		"lease": {},
		"changes": array.concat(exclusive, fixture.replaced("/resource/type_fields/canonical/merge", null)),
	},
	"a field of the domain of its action": {
		"fields": ["canonical"],
		"lease": {},
		"changes": array.concat(
			fixture.replaced("/resource/type_fields/canonical/domain", null),
			fixture.replaced("/action/domain", "CANONICAL"),
		),
	},
	"a field without any domain, elsewhere": {
		"fields": ["canonical"],
		"lease": {"relation": "ancestor"},
		"changes": fixture.replaced("/resource/type_fields/canonical/domain", null),
	},
	"a field that nobody declared": {"fields": ["colour"], "lease": {"relation": "ancestor"}},
}

# The set policy: adds commute and are idempotent; add against remove has its declared result, whichever comes first.
test_merges_sets_unless_one_adds_what_the_other_removes if {
	{note: both_ways(pair) | some note, pair in sets} == {
		"two adds": {"compatible"},
		"the same add twice": {"compatible"},
		"two removes": {"compatible"},
		"an add and another remove": {"compatible"},
		"an add against its remove": {"merge_required"},
		"an add against a replacement": {"merge_required"},
		"two replacements": {"merge_required"},
	}
}

both_ways(pair) := {result | some operations in [pair, array.reverse(pair)]; some result in set_results(operations)}

set_results(operations) := results(
	["tags"],
	{"fields": ["tags"], "domain": "SEO_METADATA", "merge": "set_merge", "set_operations": operations[1]},
	fixture.added("/request/context/set_operations", operations[0]),
)

sets := {
	"two adds": [{"add": ["Technical SEO"]}, {"add": ["GEO"]}],
	"the same add twice": [{"add": ["GEO"]}, {"add": ["GEO"], "remove": []}],
	"two removes": [{"remove": ["GEO"]}, {"remove": ["GEO", "SEO"]}],
	"an add and another remove": [{"add": ["GEO"]}, {"remove": ["SEO"]}],
	"an add against its remove": [{"add": ["GEO"]}, {"add": ["SEO"], "remove": ["GEO"]}],
	"an add against a replacement": [{"add": ["GEO"]}, null],
	"two replacements": [null, null],
}

# Between different resources the matrix alone decides; what an impact names stands for the operation there.
test_compares_different_resources_by_the_matrix_alone if {
	results(["canonical"], {"relation": "descendant", "domain": "CONTENT_BODY"}, []) == {"compatible"}
	results(
		["canonical"],
		{"relation": "affects", "domain": "CONTENT_BODY", "request_domains": ["CONTENT_BODY"]},
		[],
	) == {"serialize"}
	results(
		["canonical"],
		{"relation": "affects", "domain": "CONTENT_BODY", "request_domains": ["*"]},
		[],
	) == {"serialize"}
}

# A schema change is rejected beside another, unless it is the next of its line: then it waits for its turn.
test_lets_the_next_of_a_line_wait_where_others_are_rejected if {
	schema := fixture.replaced("/resource/type_fields/canonical/domain", "DATABASE_SCHEMA")
	line := fixture.replaced("/coordination/sequence", {"line": "m", "number": 104, "next": 104, "depends_met": true})
	early := fixture.replaced("/coordination/sequence", {"line": "m", "number": 105, "next": 104, "depends_met": true})
	lease := {"relation": "descendant", "domain": "DATABASE_SCHEMA"}

	results(["canonical"], lease, schema) == {"reject"}
	results(["canonical"], lease, array.concat(schema, line)) == {"serialize"}
	results(["canonical"], lease, array.concat(schema, early)) == {"reject"}
}
