package custom

deny contains {"rule": "score", "code": "too_high", "message": "score"} if count(input.request.context.score) > 3

requires["score"] := {"/request/context/score": "array"}
