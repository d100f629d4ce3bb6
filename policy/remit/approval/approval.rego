# METADATA
# title: approval
# description: |
#   did enough others approve this, as it is now? An approval speaks of authority and intent when it was given and
#   freezes nothing (S117). Rows of policy data and of the site are added up: the largest quorum counts.
# scope: package
package remit.approval

import data.remit.demand

# METADATA
# description: true if the question is asked of this request
# scope: document
asked if input.action.class in {"write", "reconcile"}

# METADATA
# description: what is demanded of this request, each `{rule, quorum, mode}`
# scope: document
demanded contains {
	"rule": rule,
	"quorum": object.get(row, "quorum", 1),
	"mode": object.get(row, "mode", "per_call"),
} if {
	some row in data.remit.config.required_approvals
	object.get(row, "reversible", input.action.reversible) == input.action.reversible
	asked
	rule := object.get(row, "rule", "required_approvals")
	input.action.class in object.get(row, "classes", [input.action.class])
	input.action.name in object.get(row, "actions", [input.action.name])
	demand.reaches(object.get(row, "minimum_risk", null))
	_lies_in(object.get(row, "environments", null))
}

demanded contains row if {
	asked
	some row in data.remit.site.required_approvals
}

# METADATA
# description: why approval refuses
# scope: document
reasons contains "approval_required" if {
	some row in demanded
	not _given(row)
}

reasons contains "approval_stale" if {
	asked
	input.approval != null
	not input.approval.current == true
}

# An approver cannot approve their own request, and the subject does not count towards a quorum.
reasons contains "self_approval" if {
	input.action.class == "approve"
	input.request.context.requester == input.subject.principal
}

_given(row) if {
	input.approval.current == true
	count(_others) >= max([row.quorum, input.approval.quorum, 1])
	object.get(input.approval, "mode", "per_call") in _modes[row.mode]
}

_others := {approver | some approver in input.approval.approvers} - {input.subject.principal}

# An approval of a whole run does not cover an action that is approved call by call (S119).
_modes := {"per_call": {"per_call"}, "per_run": {"per_call", "per_run"}}

_lies_in(environments) if environments == null

_lies_in(environments) if {
	environments != null
	some environment in environments
	environment in data.remit.demand.environments
}
