# METADATA
# description: policy data keeps the form that the rules read
# scope: package
package remit.config_test

test_orders_each_scale_without_repeating_a_level if {
	{name | some name, levels in data.remit.config.scales; count({level | some level in levels}) != count(levels)} == set()
}

test_demands_levels_that_are_on_the_scale if {
{level |
	some environments in data.remit.config.capability_required
	some level in environments
} |
	{row.minimum_risk | some row in data.remit.config.required_approvals} == {"CRITICAL", "HIGH"}
	{"CRITICAL", "HIGH"} - {level | some level in data.remit.config.scales.risk} == set()
}

# READ_SHARED is left out: it allows no write.
test_says_what_every_class_of_concurrency_demands if {
	object.keys(data.remit.config.concurrency) == {
		"APPEND_ONLY",
		"MULTI_WRITER_MERGEABLE",
		"NON_CONCURRENT",
		"SINGLE_WRITER",
		"WRITE_EXCLUSIVE",
		"WRITE_OPTIMISTIC",
	}
	{demand | some demands in data.remit.config.concurrency; some demand in demands} == {"lease", "version"}
}

test_ranks_an_incident_of_the_highest_severity_above_every_role if {
	highest := max([priority | some priority in data.remit.config.priorities.roles])

	data.remit.config.priorities.incidents.SEV1 > highest
}
