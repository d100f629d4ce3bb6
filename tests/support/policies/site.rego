package custom

deny contains {"rule": "score", "code": "too_high", "message": "score"} if count(input.request.context.score) > 3

requires["score"] := {"/request/context/score": "array"}

# METADATA
# entrypoint: true
endless := count([1 | some a in _many; some b in _many; a == b])

_many := numbers.range(1, 2500)
