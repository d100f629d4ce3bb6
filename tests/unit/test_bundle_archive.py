"""Packing and unpacking: the same bytes each time, and nothing taken on trust."""

from __future__ import annotations

import gzip
import io
import tarfile
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from remit_service.bundle.archive import pack, read_archive, unpack
from remit_service.bundle.errors import BundleNotFound, BundleRefused
from remit_service.bundle.limits import MIB, Limits
from remit_service.bundle.load import load_bundle
from remit_service.bundle.serve import opa_configuration, published
from remit_service.bundle.store import BundleStore
from tests.support.engines import a_bundle, write_bundle

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BUNDLE = a_bundle()


def an_archive(files: Mapping[str, bytes], **changes: object) -> bytes:
    """Return a tar.gz of `files`; `changes` are set on every member."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            for name, value in changes.items():
                setattr(member, name, value)
            tar.addfile(member, io.BytesIO(content))
    return gzip.compress(raw.getvalue())


def refusal(archive: bytes, limits: Limits | None = None) -> str:
    """Return the message with which an archive is refused."""
    with pytest.raises(BundleRefused) as caught:
        unpack(archive, limits=limits or Limits())
    return str(caught.value)


def test_a_bundle_survives_packing() -> None:
    """Unpacked, it is the same bundle, and packs to the same bytes."""
    archive = pack(BUNDLE)

    assert unpack(archive) == BUNDLE
    assert pack(unpack(archive)) == archive


def test_the_archive_is_one_that_opa_reads() -> None:
    """Sorted names without leading slash, no times, no owners."""
    with tarfile.open(fileobj=io.BytesIO(pack(BUNDLE)), mode="r:gz") as tar:
        members = [(member.name, member.mtime, member.uid, member.uname, member.mode) for member in tar]

    assert members == [
        (".manifest", 0, 0, "", 0o644),
        ("remit/decision/decision.rego", 0, 0, "", 0o644),
        ("remit/revision/data.json", 0, 0, "", 0o644),
    ]


def test_opas_own_archives_are_read() -> None:
    """`opa build` begins names with a slash."""
    slashed = {f"/{path}": content for path, content in BUNDLE.all_files.items()}

    assert unpack(an_archive(slashed)) == BUNDLE


def test_an_archive_whose_revision_does_not_fit_is_refused() -> None:
    """A changed file under an old name is found, wherever the name stands."""
    changed = {**BUNDLE.all_files, "remit/decision/decision.rego": b"package remit.decision\n"}

    assert "does not fit the content" in refusal(an_archive(changed))


def test_an_archive_without_revision_is_refused() -> None:
    """Its policy would answer without naming a bundle."""
    assert refusal(an_archive(BUNDLE.files)) == (
        "bundle.tar.gz: holds no `remit/revision/data.json`: build it with `remit policy build`"
    )


def test_an_archive_with_a_refused_policy_is_refused() -> None:
    """Every way in passes the same checks as a folder."""
    bad = {**BUNDLE.all_files, "remit/a/a.rego": b"package remit.a\n\nx := time.now_ns()\n"}

    assert refusal(an_archive(bad)) == "remit/a/a.rego:3: the built-in function `time.now_ns` is not allowed"


@pytest.mark.parametrize(
    "path", ["../escape.rego", "a/../../escape.rego", "a//b.rego", "//etc/passwd", "a\\b.rego", "./a"]
)
def test_a_name_that_leaves_the_root_is_refused(path: str) -> None:
    """No name of a member may mean a place outside."""
    assert refusal(an_archive({path: b""})).endswith("is no plain file below the root")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_what_is_no_plain_file_is_refused(kind: bytes) -> None:
    """Links and devices have no place in a policy."""
    assert refusal(an_archive({"a.rego": b""}, type=kind, linkname="b")).endswith("is no plain file below the root")


def test_a_file_in_the_archive_twice_is_refused() -> None:
    """Which of the two OPA takes is nothing to rely on."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for _ in range(2):
            tar.addfile(tarfile.TarInfo("a.rego"))

    assert refusal(gzip.compress(raw.getvalue())) == "a.rego: is in the archive twice"


@pytest.mark.parametrize("archive", [b"", b"no gzip", gzip.compress(b"no tar" * 200), pack(BUNDLE)[:-20]])
def test_what_is_no_archive_is_refused(archive: bytes) -> None:
    """Broken bytes are a refusal, never an exception of a library."""
    assert refusal(archive)


def bomb(member: tarfile.TarInfo) -> bytes:
    """Return an archive of one member with as many zero bytes as it claims, in a thousandth of the size."""
    piece = gzip.compress(b"\0" * 64 * MIB)
    # The content of a gzip file is that of its parts, one after the other.
    return gzip.compress(member.tobuf(tarfile.GNU_FORMAT)) + piece * (member.size // (64 * MIB))


def peak_of_refusing(archive: bytes) -> tuple[str, int]:
    """Return the message of the refusal, and the most memory that was held at once."""
    tracemalloc.start()
    message = refusal(archive)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return message, peak


def test_a_small_archive_that_unpacks_to_a_large_file_is_refused() -> None:
    """F052: 5 MiB that unpack to 5 GiB are refused by the size that the header claims, naming the limit."""
    member = tarfile.TarInfo("remit/a/data.json")
    member.size = 5 * 1024 * MIB
    archive = bomb(member)
    message, peak = peak_of_refusing(archive)

    assert message == "remit/a/data.json: the policy has more than 67108864 bytes unpacked"
    assert len(archive) < 6 * MIB
    assert peak < 1 * MIB


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_header_that_unpacks_to_a_large_name_is_refused(kind: bytes) -> None:
    """F052: what tarfile reads by itself, before any member is seen, is counted as well."""
    member = tarfile.TarInfo("x")
    member.type = kind
    member.size = 256 * MIB
    message, peak = peak_of_refusing(bomb(member))

    assert message == "bundle.tar.gz: the policy has more than 67108864 bytes unpacked"
    assert peak < 128 * MIB


def test_limits_are_over_all_files_together() -> None:
    """Many small files are as much as a large one."""
    archive = an_archive({f"remit/a{number}/data.json": b"{}" + b" " * 98 for number in range(10)})

    assert refusal(archive, Limits(unpacked_bytes=950)).endswith("has more than 950 bytes unpacked")
    assert refusal(archive, Limits(files=9)).endswith("has more than 9 files")
    assert refusal(archive, Limits(archive_bytes=10)) == "bundle.tar.gz: has more than 10 bytes"
    assert len(read_archive(archive, Limits(unpacked_bytes=1000, files=10))) == 10


def test_a_bundle_is_kept_by_its_digest(tmp_path: Path) -> None:
    """Saved once and loaded by revision, it is the same; saving again changes nothing."""
    store = BundleStore(tmp_path / "bundles")
    path = store.save(BUNDLE)
    written = path.stat().st_mtime_ns
    store.save(BUNDLE)

    assert store.load(BUNDLE.revision) == BUNDLE
    assert store.revisions() == [BUNDLE.revision]
    assert path.stat().st_mtime_ns == written
    assert [file.name for file in path.parent.iterdir()] == [f"{BUNDLE.revision.removeprefix('sha256:')}.tar.gz"]


@pytest.mark.parametrize("revision", ["sha256:" + "0" * 64, "../../etc/passwd", "", "sha256:" + "g" * 64])
def test_a_bundle_that_is_not_kept_is_said_to_be_missing(tmp_path: Path, revision: str) -> None:
    """Replay reports it as missing; a name that is no digest reaches no file."""
    with pytest.raises(BundleNotFound):
        BundleStore(tmp_path).load(revision)


def test_a_damaged_or_swapped_archive_is_refused(tmp_path: Path) -> None:
    """What the name promises is compared with what the file holds."""
    store = BundleStore(tmp_path)
    path = store.save(BUNDLE)
    other = a_bundle(remit_a="package remit.a\n")
    path.write_bytes(pack(other))
    with pytest.raises(BundleRefused, match=f"holds the bundle `{other.revision}`"):
        store.load(BUNDLE.revision)
    path.write_bytes(b"rotten")
    with pytest.raises(BundleRefused):
        store.load(BUNDLE.revision)


def test_a_failed_save_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk leaves no half archive behind."""
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("no space left on device")))
    with pytest.raises(OSError, match="no space left"):
        BundleStore(tmp_path).save(BUNDLE)

    assert list(tmp_path.iterdir()) == []


def test_a_policy_is_loaded_from_folder_or_archive(tmp_path: Path) -> None:
    """`--policy` takes either, and nothing means the shipped one."""
    write_bundle(BUNDLE, tmp_path / "policy")
    (tmp_path / "bundle.tar.gz").write_bytes(pack(BUNDLE))

    assert load_bundle(tmp_path / "policy") == load_bundle(tmp_path / "bundle.tar.gz") == BUNDLE
    assert load_bundle().entrypoints == {"remit/decision/decision"}


def test_a_path_without_policy_is_refused(tmp_path: Path) -> None:
    """What is not there, and an archive that is too large, are told with their limit."""
    with pytest.raises(BundleRefused, match="cannot be read: No such file or directory"):
        load_bundle(tmp_path / "absent.tar.gz")
    (tmp_path / "large.tar.gz").write_bytes(b"x" * 11)
    with pytest.raises(BundleRefused, match="has more than 10 bytes"):
        load_bundle(tmp_path / "large.tar.gz", limits=Limits(archive_bytes=10))


def test_equal_bundles_are_published_under_one_tag() -> None:
    """The entity tag is the digest; a signature makes it another."""
    tag = BUNDLE.revision.replace(":", "-")

    assert published(BUNDLE) == published(unpack(pack(BUNDLE)))
    assert published(BUNDLE).etag == f'"{tag}"'
    assert published(BUNDLE, signatures=b"{}").etag == f'"{tag}-signed"'


def test_the_configuration_of_an_opa() -> None:
    """One service, one bundle by long polling; token and key where they are demanded."""
    plain = opa_configuration("http://127.0.0.1:8180")
    guarded = opa_configuration(
        "https://remit.example.com", long_polling_seconds=10, token_path="/run/token", verification_key="PEM"
    )

    assert plain == {
        "services": [{"name": "remit", "url": "http://127.0.0.1:8180"}],
        "bundles": {
            "remit": {
                "service": "remit",
                "resource": "bundles/remit.tar.gz",
                "polling": {"long_polling_timeout_seconds": 30},
            }
        },
    }
    assert guarded == {
        "services": [
            {
                "name": "remit",
                "url": "https://remit.example.com",
                "credentials": {"bearer": {"token_path": "/run/token"}},
            }
        ],
        "bundles": {
            "remit": {
                "service": "remit",
                "resource": "bundles/remit.tar.gz",
                "polling": {"long_polling_timeout_seconds": 10},
                "signing": {"keyid": "remit"},
            }
        },
        "keys": {"remit": {"algorithm": "ES256", "key": "PEM"}},
    }
