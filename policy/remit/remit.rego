# METADATA
# title: remit
# description: the policy of Remit; every package below reads the input that the schema describes
# scope: subpackages
# schemas:
#   - input: schema.input
package remit
