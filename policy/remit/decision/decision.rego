# METADATA
# title: decision
# description: |
#   the decision document: what was found by every question, and what the caller should do next (rules.md 7)
# scope: package
package remit.decision

# METADATA
# description: the decision that is published; whatever keeps it from being made denies
# scope: document
# entrypoint: true
default decision := {
	"effect": "deny",
	"outcome": "deny",
	"reasons": ["result_undefined"],
	"determining": [],
	"conflicts": [],
	"obligations": [],
	"approvals": [],
	"site": [],
	"policy_errors": [],
	"policy_revision": "",
}

decision := {
	"effect": effect,
	"outcome": outcome,
	"reasons": reasons,
	"determining": data.remit.proof.determining,
	"conflicts": sort(data.remit.conflict.found),
	"obligations": obligations,
	"approvals": approvals,
	"site": sort(data.remit.site.denials),
	"policy_errors": sort(data.remit.site.errors),
	"policy_revision": data.remit.revision.policy_revision,
}

# METADATA
# description: every failing question, by its code
# scope: rule
findings := union({
	data.remit.request.reasons,
	data.remit.identity.reasons,
	_shortfall,
	data.remit.ownership.reasons,
	data.remit.capability.reasons,
	data.remit.approval.reasons,
	data.remit.coordination.reasons,
	data.remit.conflict.reasons,
	data.remit.preemption.reasons,
	data.remit.version.reasons,
	data.remit.governance.reasons,
	data.remit.site.reasons,
})

# METADATA
# description: true if something stands behind the request, a chain or a law that needs none
# scope: document
entitled if data.remit.proof.found

entitled if data.remit.governance.law_alone

default _shortfall := set()

_shortfall := data.remit.shortfall.reasons if not data.remit.governance.law_alone

# METADATA
# description: the codes in the order of the questions, which is that of the table of reasons
# scope: document
default reasons := []

reasons := [entry.code | some entry in _named] if count(findings) > 0

# The rows of the table that findings name, in its order. The table is long, so it is walked once.
_named := [entry |
	codes := findings
	some entry in data.remit.reasons.codes
	entry.code in codes
]

# METADATA
# description: permit is the narrow exception
# scope: document
default effect := "deny"

effect := "permit" if outcome in {"execute", "acquire", "preempt"}

# METADATA
# description: what to do next; the first in the order of outcomes that any finding asks for
# scope: document
default outcome := "deny"

outcome := "execute" if {
	entitled
	count(findings) == 0
}

outcome := asked_for[0] if {
	entitled
	count(findings) > 0
}

# METADATA
# description: outcomes from the one that ends everything to the one that is closest to a permit (rules.md 7)
# scope: rule
order := [
	"deny",
	"reject",
	"escalate",
	"review_required",
	"hold",
	"ordered",
	"merge_required",
	"rebase",
	"serialize",
	"wait",
	"preempt",
	"acquire",
]

# METADATA
# description: the outcomes that findings ask for, in that order
# scope: rule
asked_for := [candidate | some candidate in order; candidate in _outcomes]

_outcomes contains entry.outcome if {
	some entry in _named
	entry.code in (findings - _lifted)
}

_outcomes contains conflict_found.result if {
	some conflict_found in data.remit.conflict.found
	not data.remit.preemption.allowed
}

_outcomes contains "reject" if data.remit.conflict.unwritable

_outcomes contains "preempt" if data.remit.preemption.allowed

# A code that the table does not know asks for the end.
_outcomes contains "deny" if count(findings - {entry.code | some entry in _named}) > 0

# Whoever may take over need not wait; that it is busy stays a reason.
default _lifted := set()

_lifted := {"resource_busy", "resource_coordinated", "follower"} if data.remit.preemption.allowed

# METADATA
# description: what a permit demands; a refusal demands nothing
# scope: document
default obligations := []

obligations := sort(data.remit.obligation.required) if effect == "permit"

# METADATA
# description: the approvals this request needs, given or not
# scope: rule
approvals := sort(data.remit.approval.demanded)
