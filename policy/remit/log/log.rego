# METADATA
# title: log
# description: what a decision-log event does not show; its input is the event, as for `system.log.mask` of OPA
# schemas:
#   - input: {type: object, properties: {input: {type: object, additionalProperties: true}}, additionalProperties: true}
# scope: package
package remit.log

# METADATA
# description: JSON pointers of the event to remove, for the names that policy data masks, also one level down
# scope: document
mask contains _pointer(["input", "request", "context", name]) if {
	some name, _ in input.input.request.context
	name in data.remit.config.masked.context
}

mask contains _pointer(["input", "request", "context", outer, name]) if {
	some outer, value in input.input.request.context
	is_object(value)
	some name, _ in value
	name in data.remit.config.masked.context
}

mask contains _pointer(["input", part, "attributes", name]) if {
	some part in ["subject", "resource"]
	some name, _ in input.input[part].attributes
	name in data.remit.config.masked.attributes
}

mask contains _pointer(["input", "request", part, "properties", name]) if {
	some part in ["action", "resource"]
	some name, _ in input.input.request[part].properties
	name in data.remit.config.masked.attributes
}

# RFC 6901: `~` is written `~0` and `/` is written `~1`, in this order.
_pointer(parts) := concat("", [sprintf("/%v", [replace(replace(part, "~", "~0"), "/", "~1")]) | some part in parts])
