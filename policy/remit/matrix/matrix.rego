# METADATA
# title: matrix
# description: |
#   the conflict matrix of `data.remit.conflict`: the most specific pair of domains speaks, then the pairs with one
#   parent, then the parents. A missing cell is a conflict nobody has judged: it escalates. It reads the same both
#   ways round.
# scope: package
package remit.matrix

# METADATA
# description: results from the strictest to the one that lets both stand
# scope: rule
strictness := [
	"reject",
	"escalate",
	"review_required",
	"hold",
	"ordered",
	"merge_required",
	"rebase",
	"serialize",
	"wait",
	"compatible",
]

# METADATA
# description: the first of `strictness` among the results; nothing that is known among them escalates
# scope: document
strictest(among) := known[0] if {
	known := [result | some result in strictness; result in among]
	count(known) > 0
} else := "escalate"

# METADATA
# description: |
#   what two domains mean for each other; AFFECTS without domains, `*`, conflicts with every write (rules.md 8)
# scope: document
cell(mine, theirs) := "serialize" if {
	"*" in {mine, theirs}
} else := strictest(direct) if {
	direct := _direct(mine, theirs)
	count(direct) > 0
} else := strictest(half) if {
	half := _half(mine, theirs)
	count(half) > 0
} else := strictest(_direct(_parent(mine), _parent(theirs)))

_half(mine, theirs) := _direct(mine, _parent(theirs)) | _direct(_parent(mine), theirs)

_direct(mine, theirs) := {found |
	some pair in [[mine, theirs], [theirs, mine]]
	found := object.get(data.remit.conflict.matrix, pair, null)
	found != null
}

_parent(domain) := object.get(data.remit.conflict.domains, [domain, "parent"], null)
