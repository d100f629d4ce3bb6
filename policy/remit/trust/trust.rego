# METADATA
# title: trust
# description: |
#   is somebody trusted for authority that is handed on, or for the power to hand it on? Each environment that it reaches
#   asks, by class of action, for the trust of every delegate (S31); authority that names no environments reaches all.
# scope: package
package remit.trust

# METADATA
# description: true if some environment that the scope reaches asks, for one of the classes, for more trust than this
# scope: document
too_low(trust, classes, scope) if {
	some class in classes
	some environment, required in data.remit.config.required_trust[class]
	_reaches(scope, environment)
	trust < required
}

_reaches(scope, environment) if environment in scope.where.environment

_reaches(scope, _) if not scope.where.environment
