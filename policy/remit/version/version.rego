# METADATA
# title: version
# description: |
#   does the write know the state it changes? `expected_version` is compared for equality with the version an
#   enforcement point trusted for it has read; without one, the ledger may know it as superseded, and what is left is
#   checked at the resource (obligation `precondition`). No blind overwrite: I10.
# scope: package
package remit.version

# METADATA
# description: the version the request was planned on; undefined if it names none
# scope: document
expected := input.request.context.expected_version if input.request.context.expected_version != null

# METADATA
# description: why the version refuses
# scope: document
reasons contains "version_required" if {
	"version" in data.remit.coordination.demands
	not expected
	not _read_later
}

reasons contains "stale_resource_version" if {
	data.remit.coordination.writes
	_read
	expected != input.resource.version
}

reasons contains "stale_resource_version" if {
	data.remit.coordination.writes
	expected
	not _read
	not input.resource.superseded == false
}

_read if {
	input.resource.version_trusted == true
	input.resource.version != null
}

# The write protocol reads the version once it holds the coordination right (steps 5 and 6): not asked for before.
_read_later if input.coordination.phase == "begin"

_read_later if {
	"lease" in data.remit.coordination.demands
	input.coordination.presented == null
}
