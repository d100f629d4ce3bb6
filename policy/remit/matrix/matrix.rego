# METADATA
# title: matrix
# description: |
#   the conflict matrix of `data.remit.conflict`: the most specific pair of domains speaks, then the pairs with one parent,
#   then the parents. A missing cell is a conflict nobody has judged: it escalates. It reads the same both ways round.
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
default strictest(_) := "escalate"

strictest(among) := [result | some result in strictness; result in among][0]

# METADATA
# description: what two domains mean for each other
# scope: document
default cell(_, _) := "escalate"

# AFFECTS without domains conflicts with every write (rules.md 8).
cell(_, theirs) := "serialize" if theirs == "*"

cell(mine, theirs) := strictest(_direct(mine, theirs)) if {
	theirs != "*"
	count(_direct(mine, theirs)) > 0
}

cell(mine, theirs) := strictest(_half(mine, theirs)) if {
	theirs != "*"
	count(_direct(mine, theirs)) == 0
	count(_half(mine, theirs)) > 0
}

cell(mine, theirs) := strictest(_direct(_parent(mine), _parent(theirs))) if {
	theirs != "*"
	count(_direct(mine, theirs)) == 0
	count(_half(mine, theirs)) == 0
}

_half(mine, theirs) := _direct(mine, _parent(theirs)) | _direct(_parent(mine), theirs)

_direct(mine, theirs) := {cell |
	some [row, column] in [[mine, theirs], [theirs, mine]]
	cell := data.remit.conflict.matrix[row][column]
}

default _parent(_) := null

_parent(domain) := data.remit.conflict.domains[domain].parent
