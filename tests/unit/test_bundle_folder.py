"""Reading a policy folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from remit_service.bundle.errors import BundleRefused
from remit_service.bundle.folder import read_folder, shipped_policy
from remit_service.bundle.limits import Limits

if TYPE_CHECKING:
    from pathlib import Path


def laid_out(folder: Path, files: dict[str, bytes]) -> Path:
    """Write `files` into `folder`."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def refusal(folder: Path, limits: Limits | None = None) -> str:
    """Return the message with which a folder is refused."""
    with pytest.raises(BundleRefused) as caught:
        read_folder(folder, limits or Limits())
    return str(caught.value)


def test_rego_and_data_are_read_tests_too(tmp_path: Path) -> None:
    """What engines and `opa test` read is there, by its path; nothing else is."""
    wanted = {"remit/a/a.rego": b"1", "remit/a/a_test.rego": b"2", "remit/a/data.yaml": b"3", "custom/data.json": b"4"}
    rest = {"README.md": b"", "schemas/input.json": b"", ".git/a.rego": b"", ".hidden.rego": b"", "remit/a/b.yaml": b""}

    assert read_folder(laid_out(tmp_path, wanted | rest)) == wanted


def test_a_link_inside_the_folder_is_followed(tmp_path: Path) -> None:
    """A mounted configuration is made of such links."""
    laid_out(tmp_path, {"..data/data.yaml": b"a: 1"})
    (tmp_path / "data.yaml").symlink_to("..data/data.yaml")

    assert read_folder(tmp_path) == {"data.yaml": b"a: 1"}


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    """A published bundle carries no file from elsewhere on the machine."""
    laid_out(tmp_path, {"secret": b"", "policy/remit/x.rego": b""})
    (tmp_path / "policy" / "remit" / "data.json").symlink_to(tmp_path / "secret")

    message = "remit/data.json: is a link that leads out of the policy folder"
    assert refusal(tmp_path / "policy") == message


def test_a_linked_folder_is_not_entered(tmp_path: Path) -> None:
    """So a link to its own parent makes no endless folder."""
    laid_out(tmp_path, {"remit/a.rego": b""})
    (tmp_path / "remit" / "again").symlink_to(tmp_path)

    assert read_folder(tmp_path) == {"remit/a.rego": b""}


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    """The message names the path that was given."""
    assert refusal(tmp_path / "absent") == f"{tmp_path / 'absent'}: is no folder"


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    """A file that cannot be read is named with the reason."""
    (tmp_path / "a.rego").symlink_to(tmp_path / "absent")

    assert refusal(tmp_path) == "a.rego: cannot be read: No such file or directory"


def test_a_large_folder_is_refused_while_it_is_read(tmp_path: Path) -> None:
    """The limit is over all files together, and a file is read no further than one byte past it."""
    laid_out(tmp_path, {"a.rego": b"12345", "b.rego": b"67890" * 100})

    assert refusal(tmp_path, Limits(unpacked_bytes=9)) == "b.rego: the policy has more than 9 bytes unpacked"
    assert read_folder(tmp_path, Limits(unpacked_bytes=505)).keys() == {"a.rego", "b.rego"}


def test_many_files_are_refused(tmp_path: Path) -> None:
    """The third of two allowed files is named."""
    laid_out(tmp_path, {"a.rego": b"", "b.rego": b"", "c.rego": b""})

    assert refusal(tmp_path, Limits(files=2)) == "c.rego: the policy has more than 2 files"


def test_the_shipped_policy_is_found() -> None:
    """In a source tree it is the folder `policy` beside `service`."""
    assert (shipped_policy() / "remit" / "decision" / "decision.rego").is_file()
