package custom

deny contains {"rule": "score", "code": "too_high", "message": "score"} if count(input.request.context.score) > 3

requires[rule] := {"/request/context/score": "array"} if rule := "score"

# METADATA
# entrypoint: true
endless := count([1 | some a in _many; some b in _many; a == b])

_many := numbers.range(1, 2500)
