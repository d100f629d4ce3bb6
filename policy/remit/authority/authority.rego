# METADATA
# title: authority
# description: |
#   what the request touches, in the form that chains and scopes are compared with, and where they look things up
# scope: package
package remit.authority

# METADATA
# description: what the request touches
# scope: rule
asked := {
	"action": input.action.name,
	"class": input.action.class,
	"principal": input.subject.principal,
	"at": input.request.at,
	"context": input.request.context,
	"required_trust": required_trust,
	"fields": input.request.fields,
	"keys": input.resource.ancestors,
	"dimensions": input.resource.dimensions,
	"place": place,
	"attributes": attributes,
	"incidents": open_incidents,
}

# METADATA
# description: the value of each declared dimension; missing where graph and request disagree, or ancestors do
# scope: document
place[dimension] := found.graph[0] if {
	some dimension, found in input.resource.dimensions
	count(found.graph) == 1
	found.context in {null, found.graph[0]}
}

place[dimension] := found.context if {
	some dimension, found in input.resource.dimensions
	found.graph == []
	found.context != null
}

# METADATA
# description: where conditions look an attribute up, first the graph's own values, then the trusted ones of the request
# scope: rule
attributes := {
	"context": [input.request.context],
	"subject": [input.subject, input.subject.attributes],
	"resource": [input.resource.attributes, input.request.resource.properties],
	"action": [input.action, input.request.action.properties],
}

# METADATA
# description: incidents that are still open
# scope: rule
open_incidents := [incident | some incident in input.incidents; upper(incident.status) == "OPEN"]

# METADATA
# description: the trust every delegate needs for this request; the highest that one of its environments asks for
# scope: rule
required_trust := max(array.concat([0], [trust |
	some environment in data.remit.demand.environments
	trust := data.remit.config.required_trust[input.action.class][environment]
	trust > 0
]))
