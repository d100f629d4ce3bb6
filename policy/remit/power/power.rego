# METADATA
# title: power
# description: |
#   may this principal be given the power to act for others? Whoever hands authority on, speaks for a root or gets
#   capabilities for others widens what it was given (S15): the edge that makes it so asks of its holder the trust that
#   each environment asks of a delegate (S31), whoever gives it.
# scope: package
package remit.power

import data.remit.trust

# METADATA
# description: why the power is refused
# scope: document
reasons contains "trust_too_low" if {
	input.governance != null
	power := object.get(input.governance, "power", null)
	power != null
	some right in power.rights
	trust.too_low(power.trust, right.classes, right.scope)
}
