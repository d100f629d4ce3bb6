# METADATA
# title: transfer
# description: |
#   may this step of an ownership transfer be taken? The steps follow one another, each from one state; it can be
#   aborted until authority has moved (coordination.md 6).
# scope: package
package remit.transfer

# METADATA
# description: the states each step leads on from; null is a transfer that does not exist yet
# scope: rule
from := {
	"propose": {null},
	"validate": {"PROPOSED"},
	"freeze": {"VALIDATED"},
	"transfer": {"FROZEN"},
	"register": {"TRANSFERRED"},
	"verify": {"REGISTERED"},
	"retire": {"VERIFIED"},
	"abort": {"PROPOSED", "VALIDATED", "FROZEN"},
}

# METADATA
# description: why the step is refused
# scope: document
reasons contains "invalid_transition" if {
	_asked
	not _follows
}

reasons contains "not_owner" if {
	_asked
	not _step.owner == true
	not input.governance.root == true
}

# A new owner that could not exercise the ownership does not get it.
reasons contains "not_verified" if {
	_step.step == "validate"
	not _step.able == true
}

# What held a lease at the freeze may finish; after the deadline the transfer ends it.
reasons contains "resource_busy" if {
	_step.step == "transfer"
	_step.live_leases > 0
	input.request.at < _step.freeze_deadline
}

# The probe: the new writer may, and the old one may not.
reasons contains "not_verified" if {
	_step.step == "verify"
	not _changed_hands
}

_step := input.governance.transfer

_asked if _step != null

_follows if _step.state in from[_step.step]

_changed_hands if {
	_step.new_may == true
	_step.old_may == false
}
