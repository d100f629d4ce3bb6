# METADATA
# title: custom
# description: |
#   the site's own rules. Add files beside this one, in this package; what they say can only refuse or demand more:
#   `deny contains {"rule", "code", "message"}`, `obligations contains {"id", "type", "properties"}`,
#   `required_approvals contains {"rule", "quorum", "mode"}`, and `requires[rule] := {pointer: type}`, which says what of
#   `input` a rule reads: where that is missing the decision is `policy_error`, never a rule that was skipped.
# scope: package
package custom

# METADATA
# description: refusals of the site
# scope: document
deny contains denial if some denial in []

# METADATA
# description: obligations of the site
# scope: document
obligations contains duty if some duty in []

# METADATA
# description: approvals the site demands
# scope: document
required_approvals contains row if some row in []

# METADATA
# description: what the site's rules read, by rule, JSON pointer and JSON type
# scope: document
requires[rule] := pointers if some rule, pointers in {}
