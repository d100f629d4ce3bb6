# METADATA
# title: custom
# description: |
#   the site's own rules. Write them in files beside this one, in this package or below it; nothing is shipped here.
#   What they say can only refuse or demand more:
#
#   - `deny contains {"rule": ..., "code": ..., "message": ...}` refuses, with the site's own code;
#   - `obligations contains {"id": ..., "type": ..., "properties": {...}}` demands something of the enforcement point;
#   - `required_approvals contains {"rule": ..., "quorum": ..., "mode": "per_call"}` demands that people approve;
#   - `requires[rule] := {"/request/context/score": "number"}` says what of `input` a rule reads, by JSON pointer and
#   JSON type. Where that is missing or of another type the decision is `policy_error`, never a rule that was skipped.
#
#   README.md shows an example, and what means different things to the two engines.
# scope: package
package custom
