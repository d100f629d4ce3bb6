"""Our bundles and signatures in OPA's hands, and OPA's in ours."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from remit_service.bundle.archive import pack
from remit_service.bundle.build import build_bundle
from remit_service.bundle.capabilities import opa_capabilities
from remit_service.bundle.check import check_policy
from remit_service.bundle.folder import read_folder, shipped_policy
from remit_service.bundle.opa_cli import OpaProgram
from remit_service.bundle.sign import Signer, Verifier, sign, verify
from remit_service.bundle.suite import run_suite
from tests.support.engines import policy_files, write_bundle
from tests.support.programs import opa
from tests.support.services import require_service

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.opa
# Values of every kind, nested and unsorted, with what JSON encoders write differently: the hash is by value.
DATA = b'{"b": {"z": "\xc3\xbc<>&\\u2028/\\"", "a": [1, -2, 0.5, null, true, {}]}, "a": []}'
BUNDLE = build_bundle({**policy_files(), "remit/config/data.json": DATA, "custom/data.yaml": b"w: 1\nx: [a, '1']\n"})


@pytest.fixture
def program() -> OpaProgram:
    """The `opa` of this machine."""
    return OpaProgram(str(require_service(opa)))


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    """A key pair in two files, private and public."""
    key = ec.generate_private_key(ec.SECP256R1())
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
    public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


def run(program: OpaProgram, *arguments: str | Path, folder: Path | None = None) -> str:
    """Run `opa`, in `folder`, and return what it prints; a failure quotes what it said."""
    done = subprocess.run([program.path, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_opa_reads_our_archive(program: OpaProgram, tmp_path: Path) -> None:
    """The revision, the roots and the data arrive as they are in the bundle."""
    archive = tmp_path / "bundle.tar.gz"
    archive.write_bytes(pack(BUNDLE))
    inspected = json.loads(run(program, "inspect", "--format", "json", archive))
    evaluated = json.loads(run(program, "eval", "--format", "json", "--bundle", archive, "data"))

    assert inspected["manifest"]["revision"] == BUNDLE.revision
    assert inspected["manifest"]["roots"] == ["custom", "remit"]
    data = evaluated["result"][0]["expressions"][0]["value"]
    assert data["remit"]["revision"] == {"policy_revision": BUNDLE.revision}
    assert data["remit"]["config"] == json.loads(BUNDLE.data_json)["remit"]["config"]
    assert data["custom"] == {"w": 1, "x": ["a", "1"]}


def test_opa_verifies_our_signature(program: OpaProgram, keys: tuple[Path, Path], tmp_path: Path) -> None:
    """A bundle signed here is taken by OPA with the public key, and one with a file changed is not."""
    signatures = sign(BUNDLE.all_files, Signer(key=keys[0].read_bytes()))
    archive = tmp_path / "bundle.tar.gz"
    verifying = ("build", "--verification-key", keys[1], "--signing-alg", "ES256", "--output", tmp_path / "out.tar.gz")
    archive.write_bytes(pack(BUNDLE, signatures=signatures))
    run(program, *verifying, "--bundle", archive)
    changed = build_bundle({**BUNDLE.files, "custom/data.yaml": b"w: 2\nx: [a, '1']\n"})
    archive.write_bytes(pack(changed, signatures=signatures))

    with pytest.raises(AssertionError, match="digest mismatch"):
        run(program, *verifying, "--bundle", archive)


def test_we_verify_opas_signature(program: OpaProgram, keys: tuple[Path, Path], tmp_path: Path) -> None:
    """A bundle signed by `opa sign` is taken here."""
    folder = write_bundle(BUNDLE, tmp_path / "signed")
    run(program, "sign", "--signing-key", keys[0], "--signing-alg", "ES256", "--bundle", ".", folder=folder)
    files = {**BUNDLE.all_files, ".signatures.json": (folder / ".signatures.json").read_bytes()}

    verify(files, Verifier(key=keys[1].read_bytes()))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            policy_files(remit_a="package remit.a\n\nx if {\n\ty := 1\n\tinput.z\n}\n"),
            ["remit/a/a.rego:4: rego_compile_error: assigned var y unused"],
        ),
        (
            policy_files(remit_a="package remit.a\n\nx   := 1\n"),
            ["remit/a/a.rego: is not formatted: run `opa fmt --write`"],
        ),
        (
            policy_files(remit_a="package remit.a\n\nx := count(1) + 1\n"),
            ["remit/a/a.rego:3: rego_type_error: count: invalid argument(s)"],
        ),
        (
            {**policy_files(), "remit/a/a_test.rego": b"package remit.a_test\n\ntest_x if time.now_ns() > 1\n"},
            ["remit/a/a_test.rego:3: rego_type_error: undefined function time.now_ns"],
        ),
    ],
)
def test_a_strict_check_finds_what_only_opa_sees(
    program: OpaProgram, files: dict[str, bytes], expected: list[str]
) -> None:
    """Unused variables, wrong types, formatting, and impure functions in tests too."""
    report = check_policy(files, opa=program)

    assert (report.bundle, report.was_strict) == (None, True)
    assert [str(problem).partition("\n")[0] for problem in report.problems] == expected


def test_both_runners_of_policy_tests_say_the_same(program: OpaProgram, tmp_path: Path) -> None:
    """`remit policy test` and `opa test` find the same tests in the shipped policy, with the same outcomes."""
    files = read_folder(shipped_policy())
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    done = subprocess.run(
        [program.path, "test", "--format", "json", "--bundle", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    theirs = {(each["package"], each["name"]): not each.get("fail") for each in json.loads(done.stdout)}
    ours = {(f"data.{each.test.package}", each.test.name): each.passed for each in run_suite(files)}

    assert ours == theirs
    assert len(ours) > 0


def test_the_capabilities_file_is_what_the_build_allows(program: OpaProgram) -> None:
    """Editors and `opa check` read in `policy/capabilities.json` what the build and the strict check enforce."""
    written = json.loads((shipped_policy() / "capabilities.json").read_text())

    enforced = opa_capabilities(json.loads(run(program, "capabilities", "--current")))
    names = [[builtin["name"] for builtin in each["builtins"]] for each in (written, enforced)]

    assert names[0] == names[1]
    assert (written["features"], written["allow_net"]) == (enforced["features"], enforced["allow_net"])


def test_the_shipped_policy_passes_the_strict_check(program: OpaProgram) -> None:
    """`remit policy check` finds nothing to mend."""
    folder = shipped_policy()
    schemas = folder / "schemas"

    assert check_policy(read_folder(folder), opa=program, schemas=schemas if schemas.is_dir() else None).problems == ()
