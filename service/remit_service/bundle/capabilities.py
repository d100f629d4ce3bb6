r"""The built-in functions a policy may call: pure, known to both engines, and found to give the same values in them.

A decision must replay, so nothing reads the clock, the network or chance; time is `input.request.at`. Each function
here is called in both engines by `tests/differential/test_builtins_agree.py`. Refused where the engines differ:

| function | difference |
|---|---|
| `glob.match` | `*` stops at a delimiter in OPA only |
| `sprintf` with another verb than `%v` | `%d` of -3 is `--3` in the VM; `%s` of a number is an error text in OPA |
| `regex.*` with `\w`, `\d`, `\s`, `\b` or a pattern that is computed | ASCII in OPA, Unicode in the VM |
| `time.add_date` | a date past the end of a month is carried over in OPA, cut in the VM |
| `walk` | not there in the VM |
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.bundle.rego import Call

TOTAL: Final = frozenset(
    {"is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string", "type_name"}
)
"""Functions that fail on no value; every other one fails on a value of an unexpected type."""

ITERATING: Final = frozenset({"graph.reachable", "numbers.range", "numbers.range_step"})
"""Functions whose cost is no matter of the size of what they are given."""

_PARTIAL: Final = """
    abs ceil floor round max min sum product numbers.range numbers.range_step to_number format_int
    bits.and bits.lsh bits.negate bits.or bits.rsh bits.xor
    array.concat array.reverse array.slice count sort union intersection
    object.filter object.get object.keys object.remove object.subset object.union object.union_n
    concat contains endswith indexof indexof_n lower replace split sprintf startswith substring trim trim_left
    trim_prefix trim_right trim_space trim_suffix upper
    strings.any_prefix_match strings.any_suffix_match strings.count strings.replace_n strings.reverse
    regex.find_n regex.is_valid regex.match regex.replace regex.split
    base64.decode base64.encode base64.is_valid base64url.decode base64url.encode base64url.encode_no_pad
    hex.decode hex.encode urlquery.decode urlquery.encode
    json.filter json.is_valid json.marshal json.patch json.remove json.unmarshal
    graph.reachable net.cidr_contains net.cidr_is_valid semver.compare semver.is_valid units.parse_bytes
    time.clock time.date time.diff time.parse_duration_ns time.parse_rfc3339_ns time.weekday
"""

ALLOWED: Final = TOTAL | frozenset(_PARTIAL.split())

_PATTERN_ARGUMENT: Final = {"regex.find_n": 0, "regex.match": 0, "regex.replace": 1, "regex.split": 0}
_VERB: Final = re.compile(r"%(.?)", re.DOTALL)
_CLASS: Final = re.compile(r"\\[wWdDsSbB]")
_OPERATORS: Final = frozenset({"internal.member_2", "internal.member_3"})


def objection(call: Call, *, is_site: bool) -> str | None:
    """Return why a policy may not make `call` of a built-in function, or None.

    What a format or a pattern may hold is judged for rules of a site only: the shipped ones are known, and the property
    `engines_agree` runs them in both engines.
    """
    if call.name not in ALLOWED:
        return f"the built-in function `{call.name}` is not allowed"
    return _objection_to_arguments(call) if is_site else None


def _objection_to_arguments(call: Call) -> str | None:
    if call.name == "sprintf":
        verbs = _VERB.findall(call.arguments[0] or "%?")
        return None if set(verbs) <= {"v", "%"} else "`sprintf` takes a literal format with no verb but `%v`"
    if call.name in _PATTERN_ARGUMENT:
        pattern = call.arguments[_PATTERN_ARGUMENT[call.name]]
        if pattern is None:
            return f"`{call.name}` takes a literal pattern"
        if _CLASS.search(pattern):
            return rf"the pattern `{pattern}` must spell classes out: `[0-9]` for `\d`, `[0-9A-Za-z_]` for `\w`"
    return None


def opa_capabilities(current: Mapping[str, Any]) -> dict[str, Any]:
    """Return the capabilities of an OPA, `opa capabilities --current`, cut down to what a policy may use."""
    kept = [
        builtin
        for builtin in current["builtins"]
        if builtin["name"] in ALLOWED or builtin["name"] in _OPERATORS or "infix" in builtin
    ]
    # Template strings and the keywords of Rego v2 are unknown to the VM.
    return {"builtins": kept, "features": ["keywords_in_refs", "rego_v1"], "allow_net": []}
