# METADATA
# description: the hook as it is shipped says nothing
# scope: package
package custom.custom_test

test_says_nothing_as_it_is_shipped if {
	not data.custom.deny
	not data.custom.obligations
	not data.custom.required_approvals
	not data.custom.requires
}
