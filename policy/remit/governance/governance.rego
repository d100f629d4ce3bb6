# METADATA
# title: governance
# description: |
#   a command that changes the graph needs its own law, and authority over `remit:graph` like any other write; the
#   word of a root principal, and the right to end what one made, need the law alone (rules.md 5)
# scope: package
package remit.governance

# METADATA
# description: true if the request is a governance command
# scope: document
asked if {
	input.governance != null
	input.resource.key == "remit:graph"
}

# METADATA
# description: true if the law alone decides
# scope: document
law_alone if {
	asked
	input.governance.root == true
}

law_alone if {
	asked
	data.remit.revocation.inherent
}

# METADATA
# description: why the law of the command refuses
# scope: document
reasons contains code if {
	asked
	laws := [
		data.remit.delegation.reasons, data.remit.power.reasons, data.remit.revocation.reasons,
		data.remit.transfer.reasons,
	]
	some code in union({law | some law in laws})
}
