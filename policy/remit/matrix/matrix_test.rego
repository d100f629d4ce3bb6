# METADATA
# description: the conflict matrix as data, and how it is read
# scope: package
package remit.matrix_test

import data.remit.matrix

domains := object.keys(data.remit.conflict.domains)

test_is_total_and_names_no_other_domain if {
	object.keys(data.remit.conflict.matrix) == domains
	{domain | some domain, row in data.remit.conflict.matrix; object.keys(row) != domains} == set()
}

test_is_symmetric if {
	{[row, column] |
		some row, cells in data.remit.conflict.matrix
		some column, cell in cells
		cell != data.remit.conflict.matrix[column][row]
	} == set()
}

test_holds_only_results_that_are_known if {
	{cell |
		some cells in data.remit.conflict.matrix
		some cell in cells
	} - {result | some result in matrix.strictness} == set()
}

test_has_parents_that_are_domains_without_parents if {
	{parent |
		some declared in data.remit.conflict.domains
		parent := declared.parent
		data.remit.conflict.domains[parent] == {}
	} == {"INFRASTRUCTURE", "SEO_METADATA", "URL_ROUTING"}
}

# Every pair, read through the rule, is its own cell, both ways round.
test_reads_every_pair_as_its_own_cell_in_both_orders if {
	{[row, column] |
		some row, cells in data.remit.conflict.matrix
		some column, cell in cells
		{matrix.cell(row, column), matrix.cell(column, row)} != {cell}
	} == set()
}

# S53: the five cells as shown.
test_judges_the_pairs_of_the_mission_as_shown if {
	[matrix.cell(pair[0], pair[1]) | some pair in [
		["CONTENT_BODY", "CONTENT_BODY"],
		["CONTENT_BODY", "ANALYTICS_READ"],
		["CANONICAL", "URL_REDIRECT"],
		["DATABASE_SCHEMA", "APPLICATION_DEPLOY"],
		["CANONICAL", "CONTENT_BODY"],
	]] == ["serialize", "compatible", "review_required", "ordered", "compatible"]
}

# A domain added by a site, with and without cells of its own.
test_reads_the_most_specific_pair_then_the_parents if {
	found := {note: matrix.cell(pair[0], pair[1]) |
		some note, pair in {
			"own pair": ["ROBOTS", "CANONICAL"],
			"own pair, the other way round": ["CANONICAL", "ROBOTS"],
			"the stricter of two half pairs": ["ROBOTS", "SITEMAP"],
			"one parent": ["SITEMAP", "CONTENT_BODY"],
			"both parents": ["SITEMAP", "URL_REDIRECT"],
			"no cell at all": ["SITEMAP", "MEDIA"],
			"no domain": ["SITEMAP", null],
			"two that are unknown": ["MEDIA", "PRINT"],
		}
	} with data.remit.conflict as extended

	found == {
		"own pair": "hold",
		"own pair, the other way round": "hold",
		"the stricter of two half pairs": "reject",
		"one parent": "compatible",
		"both parents": "review_required",
		"no cell at all": "escalate",
		"no domain": "escalate",
		"two that are unknown": "escalate",
	}
}

extended := {
	"domains": {
		"ROBOTS": {"parent": "INDEXING_CONTROL"},
		"SITEMAP": {"parent": "INDEXING_CONTROL"},
		"URL_REDIRECT": {"parent": "URL_ROUTING"},
		"INDEXING_CONTROL": {},
		"URL_ROUTING": {},
		"CANONICAL": {},
		"CONTENT_BODY": {},
	},
	"matrix": {
		"ROBOTS": {"CANONICAL": "hold", "INDEXING_CONTROL": "serialize"},
		"INDEXING_CONTROL": {
			"CONTENT_BODY": "compatible",
			"URL_ROUTING": "review_required",
			"SITEMAP": "reject",
			"ROBOTS": "serialize",
		},
	},
}

test_conflicts_with_every_write_where_an_impact_names_no_domains if {
	{matrix.cell(domain, "*") | some domain in domains} == {"serialize"}
	{matrix.cell("*", domain) | some domain in domains} == {"serialize"}
}

test_takes_the_strictest_and_escalates_what_is_unknown if {
	matrix.strictest({"serialize", "reject", "compatible"}) == "reject"
	matrix.strictest({"compatible"}) == "compatible"
	matrix.strictest({"maybe"}) == "escalate"
	matrix.strictest(set()) == "escalate"
}
