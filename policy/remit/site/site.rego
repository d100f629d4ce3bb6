# METADATA
# title: site
# description: |
#   what the site's own rules, `data.custom`, add to a decision. They can refuse and demand, never permit: nothing of
#   them is read but the sets below. A rule that says what it reads is not skipped where that is missing:
#   `policy_error`.
# scope: package
package remit.site

# METADATA
# description: denials of the site, each `{rule, code, message}`
# scope: document
denials contains {"rule": denial.rule, "code": denial.code, "message": denial.message} if {
	some denial in data.custom.deny
	_texts(denial, ["rule", "code", "message"])
}

# METADATA
# description: obligations of the site, each `{id, type, properties}`
# scope: document
obligations contains {"id": duty.id, "type": duty.type, "properties": duty.properties} if {
	some duty in data.custom.obligations
	_texts(duty, ["id", "type"])
	is_object(duty.properties)
}

# METADATA
# description: approvals the site demands, each `{rule, quorum, mode}`
# scope: document
required_approvals contains {"rule": row.rule, "quorum": row.quorum, "mode": row.mode} if {
	some row in data.custom.required_approvals
	_texts(row, ["rule", "mode"])
	row.mode in {"per_call", "per_run"}
	is_number(row.quorum)
}

# METADATA
# description: what could not be evaluated, each `{rule, pointer, expected, found}`
# scope: document
errors contains {"rule": rule, "pointer": pointer, "expected": expected, "found": found} if {
	some rule, pointers in data.custom.requires
	some pointer, expected in pointers
	found := _kind(object.get(input, _path(pointer), null), expected)
	found != expected
}

errors contains _malformed("deny") if count(denials) != count(data.custom.deny)

errors contains _malformed("obligations") if count(obligations) != count(data.custom.obligations)

errors contains _malformed("required_approvals") if count(required_approvals) != count(data.custom.required_approvals)

# METADATA
# description: why the site refuses
# scope: document
reasons contains "policy_denied" if count(data.custom.deny) > 0

reasons contains "policy_error" if count(errors) > 0

_malformed(name) := {
	"rule": sprintf("custom.%v", [name]),
	"pointer": "",
	"expected": "entries in the documented form",
	"found": "another form",
}

_texts(entry, names) if {
	is_object(entry)
	every name in names {
		is_string(object.get(entry, name, null))
	}
}

# RFC 6901: `~1` stands for `/` and `~0` for `~`, undone in this order.
_path(pointer) := [replace(replace(part, "~1", "/"), "~0", "~") |
	some part in split(trim_prefix(pointer, "/"), "/")
]

_kind(value, expected) := "integer" if {
	expected == "integer"
	is_number(value)
	floor(value) == value
}

else := type_name(value)
