"""An installed wheel holds everything: the typed package, the proofs, and a map from one to the other.

So does the source distribution: the wheel is built from it again.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from opendp_topk import proof

ROOT = Path(__file__).resolve().parents[2]
QUESTION = """
import opendp_topk as tk
from opendp_topk import proof
space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
top = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=1.0)
folder = proof.documents_folder()
print(top.proof.path.relative_to(folder), top.proof.status, folder.name, tk.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="building a wheel without network needs hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*build, "."], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    site = wheel.parent / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True, timeout=300)
    return site


@pytest.mark.slow
def test_who_builds_the_wheel_again_gets_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    """From the source distribution, unpacked into another folder: its files are younger, and their owner's alone."""
    pack = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(pack, cwd=ROOT, check=True, capture_output=True, timeout=300)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    sources = tmp_path / "elsewhere"
    shutil.copytree(tmp_path / archive.name.removesuffix(".tar.gz"), sources, copy_function=shutil.copyfile)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=sources, check=True, capture_output=True, umask=0o077, timeout=300)
    (again,) = tmp_path.glob("*.whl")
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


@pytest.mark.slow
def test_the_installed_command_makes_the_release_of_the_demo(installed: Path, tmp_path: Path) -> None:
    pytest.importorskip("typer", reason="the command needs typer and rich")
    pytest.importorskip("polars")
    command = [str(installed / "bin" / "opendp-topk"), "demo"]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    found = subprocess.run(
        command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True, timeout=300
    )
    listed = found.stdout.partition("3. The release")[2].partition("4. The same")[0]
    assert [line.split()[0] for line in listed.splitlines() if line.startswith("   ")][:5] == list("12345")
    assert listed.count("(current)") == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_proof_of_an_installed_measurement_is_found_and_current(installed: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    found = subprocess.run(
        [sys.executable, "-c", QUESTION], cwd=installed, env=environment, check=True, capture_output=True, text=True
    )
    path, status, folder, module = found.stdout.split()
    assert (path, status, folder) == ("measurements/report_noisy_top_k.tex", "current", "documents")
    assert Path(module).is_relative_to(installed)


DERIVED = "from opendp_topk.proof import status\nstatus._derive_finding = lambda name: 1 / 0\n" + QUESTION


@pytest.mark.slow
def test_what_the_build_found_of_every_document_is_read(installed: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    subprocess.run([sys.executable, "-c", DERIVED], cwd=installed, env=environment, check=True, capture_output=True)
    shipped = json.loads((installed / "opendp_topk/proof/documents/findings.json").read_text(encoding="utf-8"))
    ((_, found),) = shipped.items()
    assert {name: current for name, (current, _) in found.items()} == dict.fromkeys(proof.document_names(), True)


REPORT = """
import sys
from pathlib import Path
from opendp_topk.apps.audit import proofs, shipped
from opendp_topk.apps.audit.html.report import write_report
from opendp_topk.apps.audit.registry import tests_are_here
shipped.shipped_examples = lambda: iter([])
write_report(sys.argv[1])
print(tests_are_here(), {claim.tests for claim in proofs()})
"""


@pytest.mark.slow
def test_the_report_of_an_installed_package_says_that_the_tests_are_not_there(installed: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", REPORT, str(tmp_path / "report")]
    found = subprocess.run(command, cwd=installed, env=environment, check=True, capture_output=True, text=True)
    assert found.stdout.split() == ["False", "{()}"]
    index = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    listed = index.partition('id="claims"')[2].partition("</table>")[0]
    assert listed.count(">not here<") == listed.count('scope="row"') > 20
    assert "The tests are not installed here" in index
    page = (tmp_path / "report" / "claims" / "make_laplace.html").read_text(encoding="utf-8")
    assert "The tests are not installed here." in page
    assert "No test refers to it" not in page


@pytest.mark.slow
def test_the_wheel_ships_every_document_and_the_typing_marker(installed: Path) -> None:
    shipped = installed / "opendp_topk" / "proof" / "documents"
    for source in (ROOT / "proofs").rglob("*"):
        if source.suffix in (".tex", ".sty", ".bib", ".md"):
            copy = shipped / source.relative_to(ROOT / "proofs")
            assert copy.read_bytes() == source.read_bytes()
    assert (installed / "opendp_topk" / "py.typed").is_file()
    assert not any(installed.rglob("tests"))
