# METADATA
# title: identity
# description: who asks, and may the one who speaks for them do so? The kind of a principal decides nothing (S14).
# scope: package
package remit.identity

# METADATA
# description: why identity refuses
# scope: document
reasons contains "unauthenticated" if not input.identity.authenticated

reasons contains "identity_mismatch" if not input.identity.speaks_for

reasons contains "unknown_subject" if not _known

reasons contains "subject_disabled" if not input.subject.disabled == false

_known if is_string(input.subject.principal)
