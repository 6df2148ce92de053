# SPDX-License-Identifier: Apache-2.0
"""Files that are written: whole or not at all, by many at once, with the permissions that they had."""
import os
import stat
import threading

import pytest

import keybits
from keybits._files import write_file

posix = pytest.mark.skipif(os.name != "posix", reason="links and permissions of POSIX")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_threads_that_save_one_file(tmp_path):
    """The file is always one of those that were written, and nobody's save fails."""
    models = [keybits.Model(name) for name in ("bag256", "bad256", "hashsift256")]
    contents, failures = {model.to_bytes() for model in models}, []

    def save(model):
        try:
            for _ in range(40):
                model.save(tmp_path / "model.kbm")
                assert (tmp_path / "model.kbm").read_bytes() in contents
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=save, args=(model,)) for model in models * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and names(tmp_path) == ["model.kbm"]


@posix
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "model.kbm").write_bytes(b"old")
    (tmp_path / "link.kbm").symlink_to("real/model.kbm")
    (tmp_path / "new.kbm").symlink_to("real/other.kbm")
    model = keybits.Model("bag256")
    for name, real in (("link.kbm", "model.kbm"), ("new.kbm", "other.kbm")):
        model.save(tmp_path / name)
        assert (tmp_path / name).is_symlink() and (tmp_path / "real" / real).read_bytes() == model.to_bytes()
    assert names(tmp_path) == ["link.kbm", "new.kbm", "real"] and names(tmp_path / "real") == ["model.kbm", "other.kbm"]
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError):
        model.save(tmp_path / "loop")


@posix
def test_planted_links_are_not_followed(tmp_path):
    """The work file has a name that nobody knows before."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / f".part-{os.getpid()}-model.kbm").symlink_to(victim)
    keybits.Model("bag256").save(folder / "model.kbm")
    assert victim.read_bytes() == b"mine" and len(names(folder)) == 2


@posix
def test_permissions(tmp_path):
    path = tmp_path / "model.kbm"
    model = keybits.Model("bad256")
    before = os.umask(0o027)
    try:
        model.save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        for mode in (0o600, 0o666, 0o604):
            path.chmod(mode)
            model.save(path)
            assert stat.S_IMODE(path.stat().st_mode) == mode
    finally:
        os.umask(before)
    seen = []
    path.chmod(0o600)
    write_file(path, lambda file: seen.append(os.fstat(file.fileno()).st_mode))
    assert stat.S_IMODE(seen[0]) == 0o600  # while it is written, too
    if os.geteuid() != 0:
        path.chmod(0o400)
        with pytest.raises(PermissionError):
            model.save(path)


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write(file):
        file.write(b"new")
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError):
        write_file(path, write)
    assert path.read_bytes() == b"old" and names(tmp_path) == ["file"]
    for wrong in (tmp_path, tmp_path / "nowhere" / "x"):
        with pytest.raises(OSError) as failure:
            write_file(wrong, write)
        assert failure.value.filename == str(wrong)


@posix
def test_on_the_disc_before_it_has_its_name(tmp_path, monkeypatch):
    steps = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (steps.append(stat.S_IFMT(os.fstat(fd).st_mode)), sync(fd)))
    monkeypatch.setattr(os, "replace", lambda *names: (steps.append("named"), replace(*names)))
    write_file(tmp_path / "file", lambda file: file.write(b"x"))
    assert steps == [stat.S_IFREG, "named", stat.S_IFDIR]


@posix
def test_pipes_are_written_as_they_are(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read = []
    thread = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    thread.start()
    keybits.Model("bad256").save(tmp_path / "pipe")
    thread.join(60)
    assert read == [keybits.Model("bad256").to_bytes()] and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_name_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("x" * 255)
    keybits.Model("bad256").save(path)
    assert names(tmp_path) == [path.name]
