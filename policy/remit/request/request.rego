# METADATA
# title: request
# description: is the question itself well formed, and does the world know what it speaks of?
# scope: package
package remit.request

# METADATA
# description: why the question cannot be asked
# scope: document
reasons contains fault if some fault in input.request.faults

reasons contains "unknown_action" if not input.action.known

# A resource whose key is malformed is not unknown: nothing is said about it.
reasons contains "unknown_resource" if {
	not input.resource.known
	not _malformed
}

_malformed if "malformed_resource_key" in input.request.faults

reasons contains "unknown_field" if {
	input.resource.known
	some field in input.request.fields
	not input.resource.type_fields[field]
}
