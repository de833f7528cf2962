"""Files that are made: whole or not at all, by the umask, and never through what somebody else put in the way."""

import contextlib
import errno
import os
import shutil
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from opendp_topk.apps.cli.output import RecordDestination
from opendp_topk.errors import files as writing
from opendp_topk.errors.files import DraftFile, write_atomically
from tests.concepts.sentinels import raises_exactly

POSIX = pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="the system has no links that are not followed")


def test_a_file_is_made_by_the_umask_and_leaves_nothing_else(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "a", b"text")
        with DraftFile(tmp_path / "b") as draft:
            draft.publish()
    finally:
        os.umask(before)
    assert (tmp_path / "a").read_bytes() == b"text"
    assert {one.name: one.stat().st_mode & 0o777 for one in tmp_path.iterdir()} == {"a": 0o640, "b": 0o640}


def test_a_file_is_replaced_only_if_that_is_said(tmp_path: Path) -> None:
    place = tmp_path / "a"
    place.write_bytes(b"old")
    raises_exactly(FileExistsError, lambda: write_atomically(place, b"new"))
    with DraftFile(place) as draft, pytest.raises(FileExistsError):
        draft.publish()
    assert place.read_bytes() == b"old"
    write_atomically(place, b"new", replace=True)
    assert (place.read_bytes(), os.listdir(tmp_path)) == (b"new", ["a"])


@pytest.mark.parametrize("replace", [True, False])
def test_a_failure_leaves_nothing(tmp_path: Path, replace: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    raises_exactly(OSError, lambda: write_atomically(tmp_path / "a", b"text", replace=replace), "No space")
    assert os.listdir(tmp_path) == []


def test_without_links_the_file_is_written_and_none_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: Any, **__: Any) -> None:
        raise OSError(errno.EOPNOTSUPP, "no hard links here")

    flushed: list[int] = []
    monkeypatch.setattr(os, "link", unsupported)
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_size))
    write_atomically(tmp_path / "a", b"text")
    assert flushed == [4, 4], "the draft and the copy, whole"
    raises_exactly(FileExistsError, lambda: write_atomically(tmp_path / "a", b"other"))
    assert ((tmp_path / "a").read_bytes(), os.listdir(tmp_path)) == (b"text", ["a"])


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "no space"), KeyboardInterrupt()])
def test_a_failed_copy_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def unsupported(*_: Any, **__: Any) -> None:
        raise OSError(errno.EOPNOTSUPP, "no hard links here")

    def fails(_: Any, stream: Any) -> None:
        stream.write(b"te")
        raise error

    monkeypatch.setattr(os, "link", unsupported)
    with monkeypatch.context() as full:
        full.setattr(shutil, "copyfileobj", fails)
        raises_exactly(type(error), lambda: write_atomically(tmp_path / "a", b"text"))
        assert os.listdir(tmp_path) == []
        full.setattr(Path, "unlink", unsupported)
        raises_exactly(type(error), lambda: write_atomically(tmp_path / "b", b"text"))
    write_atomically(tmp_path / "a", b"text")
    assert (tmp_path / "a").read_bytes() == b"text"


def drafts(folder: Path) -> list[Path]:
    return [folder / name for name in os.listdir(folder) if name.endswith(".partial")]


@POSIX
@pytest.mark.parametrize("replace", [True, False])
def test_what_was_written_gets_the_name_whole(tmp_path: Path, replace: bool) -> None:
    """It is the same file under another name: nobody meets a part of it."""
    with DraftFile(tmp_path / "a") as draft:
        draft.write_content(b"text")
        (written,) = [one.stat().st_ino for one in drafts(tmp_path)]
        draft.publish(replace=replace)
    assert (tmp_path / "a").stat().st_ino == written


@POSIX
@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("moment", ["before it is written", "after it was written", "after it was moved"])
def test_a_link_in_the_place_of_the_draft_leads_nowhere(tmp_path: Path, moment: str, replace: bool) -> None:
    """Who may write in the folder puts a link to another's file, or to the draft itself, where the draft was."""
    victim, folder = tmp_path / "victim", tmp_path / "shared"
    victim.write_bytes(b"precious")
    folder.mkdir()

    def exchange() -> None:
        (draft,) = drafts(folder)
        moved = draft.rename(folder / "moved")
        draft.symlink_to(moved if moment == "after it was moved" else victim)

    with contextlib.ExitStack() as stack:
        draft = stack.enter_context(DraftFile(folder / "a"))
        if moment == "before it is written":
            exchange()
        draft.write_content(b"text")
        if moment != "before it is written":
            exchange()
        with pytest.raises(OSError, match="replaced") as caught:
            draft.publish(replace=replace)
    assert caught.value.errno == errno.ESTALE
    assert victim.read_bytes() == b"precious"
    assert not (folder / "a").exists()


@POSIX
def test_a_link_that_has_the_name_of_the_draft_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")

    class Known:
        hex = "0" * 32

    monkeypatch.setattr(writing.uuid, "uuid4", Known)
    for target in (victim, tmp_path / "not there"):
        link = tmp_path / f".a.{'0' * 12}.partial"
        link.symlink_to(target)
        with pytest.raises(FileExistsError), DraftFile(tmp_path / "a"):
            pass
        link.unlink()
    assert (victim.read_bytes(), (tmp_path / "not there").exists()) == (b"precious", False)


@POSIX
def test_a_link_that_has_the_name_of_the_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim, place = tmp_path / "victim", tmp_path / "a"
    victim.write_bytes(b"precious")
    place.symlink_to(victim)
    raises_exactly(FileExistsError, lambda: write_atomically(place, b"text"))
    write_atomically(place, b"text", replace=True)
    assert (victim.read_bytes(), place.is_symlink(), place.read_bytes()) == (b"precious", False, b"text")


@POSIX
def test_a_folder_that_is_exchanged_meanwhile_gets_nothing(tmp_path: Path) -> None:
    folder, other = tmp_path / "shared", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    with DraftFile(folder / "a") as draft:
        draft.write_content(b"text")
        folder.rename(tmp_path / "moved")
        folder.symlink_to(other)
        raises_exactly(FileNotFoundError, draft.publish)
    assert os.listdir(other) == []


def test_descriptors_are_given_back(tmp_path: Path) -> None:
    def opened() -> int:
        handle = os.open(tmp_path, os.O_RDONLY)
        os.close(handle)
        return handle

    before = opened()
    for n in range(20):
        write_atomically(tmp_path / str(n), b"text")
        with pytest.raises(FileExistsError):
            write_atomically(tmp_path / str(n), b"text")
    with pytest.raises(OSError, match="name"), DraftFile(tmp_path / ("x" * 300) / "a"):
        pass
    assert opened() == before


def _enter_interrupted(entered: AbstractContextManager[Any], line: int) -> int:
    """Enter and leave it, with Ctrl-C at the given line of the library's own code; return the number of lines run."""
    lines, sources = 0, (writing.__file__, sys.modules[RecordDestination.__module__].__file__)

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename not in sources or frame.f_code.co_name != "__enter__":
            return None
        if event == "line":
            lines += 1
            if lines == line:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with contextlib.suppress(KeyboardInterrupt), entered:
            pass
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("kind", ["draft", "record"])
def test_an_interrupt_leaves_no_draft_at_any_line(tmp_path: Path, kind: str) -> None:
    def entered() -> AbstractContextManager[Any]:
        return DraftFile(tmp_path / "a") if kind == "draft" else RecordDestination(str(tmp_path / "a"))

    total = _enter_interrupted(entered(), 0)
    assert total >= 3
    for line in range(1, total + 1):
        _enter_interrupted(entered(), line)
        assert os.listdir(tmp_path) == [], line


@pytest.mark.parametrize("kind", ["draft", "record"])
def test_an_interrupt_between_calls_leaves_no_draft(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file exists, and its name is not known to anybody yet."""

    def pressed(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fdopen", pressed)
    entered = DraftFile(tmp_path / "a") if kind == "draft" else RecordDestination(str(tmp_path / "a"))
    with pytest.raises(KeyboardInterrupt), entered:
        pass
    assert os.listdir(tmp_path) == []
