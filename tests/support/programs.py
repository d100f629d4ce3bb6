"""Where the programs are that the tests start, and how the two which no distribution packages are fetched.

A program that cannot be had is a sentence (`Missing`) that tells how to get it; the caller decides whether that skips a
test or fails it. Nothing is installed into the system here: OPA and Neo4j go to a cache folder of the user, everything
else is only looked up.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

OPA_VERSION: Final = "1.22.3"
NEO4J_POM: Final = Path(__file__).with_name("neo4j.pom.xml")
# Debian keeps servers where the PATH of an ordinary user does not look.
SEARCH_PATH: Final = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
# Releases of Java that Neo4j 5.26 supports.
JAVA_RELEASES: Final = ("17", "21")
DEBIAN_PACKAGES: Final = {
    "nginx": "nginx-light",
    "caddy": "caddy",
    "haproxy": "haproxy",
    "chromium": "chromium",
    "mvn": "maven",
    "java": "openjdk-17-jre-headless",
}


class Missing(Exception):
    """A program cannot be had here; the message is one line and says how to get it."""


def cache_folder() -> Path:
    """Return the folder that keeps fetched programs between runs and clones."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "remit"


def program(name: str) -> Path:
    """Return the installed program `name`.

    Raises:
        Missing: It is not installed.
    """
    found = shutil.which(name, path=SEARCH_PATH)
    if found is None:
        package = DEBIAN_PACKAGES.get(name)
        raise Missing(
            f"`{name}` is not installed" + (f"; on Debian and Ubuntu: apt install {package}" if package else "")
        )
    return Path(found)


def opa() -> Path:
    """Return an OPA of the wanted version or a later one of the same major version.

    Raises:
        Missing: There is none yet.
    """
    gopath = Path(os.environ.get("GOPATH") or Path.home() / "go")
    for candidate in (opa_cached(), shutil.which("opa"), gopath / "bin" / "opa"):
        if candidate and Path(candidate).is_file() and _opa_serves(Path(candidate)):
            return Path(candidate)
    raise Missing(f"no OPA {OPA_VERSION} or later; `./run services` builds it with Go 1.26")


def opa_cached() -> Path:
    """Return where `fetch_opa` puts OPA."""
    return cache_folder() / f"opa-{OPA_VERSION}" / "opa"


def fetch_opa() -> None:
    """Build OPA in the cache folder.

    Raises:
        Missing: Go is missing, or the build failed.
    """
    folder = opa_cached().parent
    folder.mkdir(parents=True, exist_ok=True)
    module = f"github.com/open-policy-agent/opa@v{OPA_VERSION}"
    _fetch([str(program("go")), "install", module], {"GOBIN": str(folder)})


def neo4j_jars() -> Path:
    """Return the folder with the jars of Neo4j.

    Raises:
        Missing: They were not fetched yet.
    """
    folder = cache_folder() / f"neo4j-{neo4j_version()}"
    if not (folder / "complete").exists():
        raise Missing("Neo4j is not here; `./run services` fetches it with Maven")
    return folder


def neo4j_version() -> str:
    """Return the version of Neo4j that the tests run against; the Maven file names it once."""
    version = re.search(r"<artifactId>neo4j</artifactId>\s*<version>([^<]+)<", NEO4J_POM.read_text())
    assert version is not None
    return version[1]


def fetch_neo4j() -> None:
    """Copy the jars of Neo4j into the cache folder, with checksums enforced.

    Raises:
        Missing: Maven or Java are missing, or the download failed.
    """
    java()
    folder = cache_folder() / f"neo4j-{neo4j_version()}"
    folder.mkdir(parents=True, exist_ok=True)
    arguments = ["--batch-mode", "--quiet", "--strict-checksums", "--file", str(NEO4J_POM)]
    target = [f"-DoutputDirectory={folder}", "dependency:copy-dependencies"]
    _fetch([str(program("mvn")), *arguments, *target])
    (folder / "complete").touch()


def java() -> Path:
    """Return a Java that Neo4j runs on.

    Raises:
        Missing: There is none of a supported release.
    """
    candidates = [shutil.which("java")]
    if home := os.environ.get("JAVA_HOME"):
        candidates.append(str(Path(home) / "bin" / "java"))
    for candidate in filter(None, candidates):
        said = subprocess.run([candidate, "-version"], capture_output=True, text=True, check=False).stderr
        release = re.search(r'version "(\d+)', said)
        if release is not None and release[1] in JAVA_RELEASES:
            return Path(candidate)
    releases = " or ".join(JAVA_RELEASES)
    raise Missing(f"Neo4j needs Java {releases}; on Debian and Ubuntu: apt install {DEBIAN_PACKAGES['java']}")


def _opa_serves(candidate: Path) -> bool:
    said = subprocess.run([candidate, "version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"Version: (\d+)\.(\d+)\.(\d+)", said)
    if version is None:
        return False
    have, want = [int(part) for part in version.groups()], [int(part) for part in OPA_VERSION.split(".")]
    return have[0] == want[0] and have >= want


def _fetch(command: list[str], environment: dict[str, str] | None = None, attempts: int = 3) -> None:
    """Run a command that downloads, again after a failure: what it already has it keeps."""
    said = ""
    for _ in range(attempts):
        done = subprocess.run(
            command, env={**os.environ, **(environment or {})}, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return
        said = next((line for line in reversed((done.stdout + done.stderr).splitlines()) if line.strip()), "")
    raise Missing(f"`{Path(command[0]).name}` failed {attempts} times: {said}")
