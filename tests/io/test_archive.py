"""Files that are damaged, strange, too new, or not written to the end."""

import io
import json
import zipfile

import numpy as np
import pytest

import sticktree
from sticktree.estimators import saving as format_of_estimators
from sticktree.io import archive as module
from sticktree.io.archive import Archive, open_archive, write_archive


@pytest.fixture(scope="module")
def content(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "it.sticktree"
    sticktree.save(fitted("flat")[0], path)
    return path.read_bytes()


def rewritten(content, **members):
    """Return a file with other members, or without those that are None."""
    new = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(new, "w") as file:
        for info in old.infolist():
            member = members.get(info.filename.partition(".")[0], old.read(info))
            if member is not None:
                file.writestr(info, member)
    return new.getvalue()


def refusal(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words are looked at
        sticktree.load(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


# ---- damage --------------------------------------------------------------------------------------


def places(content):
    """Return places of all parts: members, every byte of some headers, and the end."""
    directory = content.index(b"PK\x01\x02")
    spread = np.linspace(0, len(content) - 1, 150).astype(int).tolist()
    return sorted(
        {
            *spread,
            *range(44),
            *range(directory, directory + 60),
            *range(len(content) - 22, len(content)),
        }
    )


def test_wrong_byte_is_noticed_or_does_not_matter(content, tmp_path):
    path, again = tmp_path / "it.sticktree", tmp_path / "again.sticktree"
    for place in places(content):
        wrong = bytearray(content)
        wrong[place] ^= 255
        path.write_bytes(wrong)
        try:
            loaded = sticktree.load(path)
        except ValueError as error:
            assert f"{path} is damaged, or not a sticktree file" in str(error)  # noqa: PT017
        else:
            # A date, or bits that fill up the last byte of a stream.
            sticktree.save(loaded, again)
            assert again.read_bytes() == content


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 0.999])
def test_truncated_file_is_damaged(content, tmp_path, share):
    assert "is damaged" in refusal(tmp_path / "it", content[: int(share * len(content))])


@pytest.mark.parametrize("member", ["sticktree", "document", "arrays/0"])
@pytest.mark.parametrize(
    "text", [None, b"", b"[", b"[]", b"null", b"{}", b"\xff", b'{"a": NaN}', b"[" * 10**5]
)
def test_strange_member_is_damage(content, tmp_path, member, text):
    assert "is damaged" in refusal(tmp_path / "it", rewritten(content, **{member: text}))


@pytest.mark.parametrize(
    "attribute",
    [{"set": []}, {"same": 99}, {"array": 10**6}, {"Model": {}}, {"a": 1, "b": 2}, {"tree": {}}],
    ids=str,
)
def test_strange_object_is_damage(content, tmp_path, attribute):
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        document = json.loads(file.read("document.json"))
    document["attributes"]["tree_"] = attribute
    changed = rewritten(content, document=json.dumps(document))
    assert "is damaged" in refusal(tmp_path / "it", changed)


def test_pickled_objects_are_refused(content, tmp_path):
    pickled = io.BytesIO()
    np.save(pickled, np.array([print], dtype=object), allow_pickle=True)
    assert "pickle" in refusal(
        tmp_path / "it", rewritten(content, **{"arrays/0": pickled.getvalue()})
    )


@pytest.mark.parametrize("text", [b"", b"hello", b"PK", b"\x93NUMPY"])
def test_other_files_are_refused(tmp_path, text):
    assert "not a sticktree file" in refusal(tmp_path / "it", text)


def test_other_zips_are_refused(tmp_path):
    other = io.BytesIO()
    np.savez(other, a=np.arange(3))
    assert "not a sticktree file" in refusal(tmp_path / "it", other.getvalue())


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        sticktree.load(tmp_path / "none")
    with pytest.raises((IsADirectoryError, PermissionError)):
        sticktree.load(tmp_path)


# ---- versions ------------------------------------------------------------------------------------


def with_header(content, **changes):
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        header = json.loads(file.read("sticktree.json"))
    return rewritten(content, sticktree=json.dumps(header | changes))


def test_newer_version_is_refused(content, tmp_path):
    path = tmp_path / "it"
    text = refusal(path, rewritten(with_header(content, version=3), document=None))
    wanted = f"{path} has format version 3; this sticktree reads 1, 2; upgrade sticktree"
    assert text == wanted


def test_version_that_never_was_is_refused(content, tmp_path):
    text = refusal(tmp_path / "it", with_header(content, version=0))
    assert text.endswith("has format version 0; this sticktree reads 1, 2")


def test_other_format_is_refused(content, tmp_path):
    text = refusal(tmp_path / "it", with_header(content, format="sticktree.forest"))
    assert text.endswith("holds 'sticktree.forest', not one of sticktree.estimator")


def test_older_versions_have_their_readers(content, tmp_path, monkeypatch):
    path = tmp_path / "it"
    path.write_bytes(content)
    readers = {2: lambda archive: archive.provenance, 3: None}
    monkeypatch.setattr(format_of_estimators, "READERS", readers)
    assert sticktree.load(path)["sticktree"] == sticktree.__version__


# ---- malice --------------------------------------------------------------------------------------


def test_further_members_do_not_matter(content, tmp_path):
    path = tmp_path / "inside" / "it"
    path.parent.mkdir()
    path.write_bytes(content)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("../escaped", b"x")
        file.writestr("/escaped", b"x")
        file.writestr("bomb", bytes(10**8))
    loaded = sticktree.load(path)
    sticktree.save(loaded, path)
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["inside"]
    assert [p.name for p in path.parent.iterdir()] == ["it"]


def test_members_cannot_stand_for_more_than_the_file_holds(content):
    with (
        zipfile.ZipFile(io.BytesIO(content)) as file,
        pytest.raises(ValueError, match="its members overlap"),
    ):
        Archive(file, len(content) // 2)


def test_long_documents_are_refused(content, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_JSON", 100)
    assert "is too long" in refusal(tmp_path / "it", content)


# ---- writing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [OSError("no space left on device"), KeyboardInterrupt()])
def test_failure_while_writing_leaves_the_former_file(fitted, tmp_path, monkeypatch, failure):
    path = tmp_path / "it.sticktree"
    sticktree.save(fitted("flat")[0], path)
    before, calls = path.read_bytes(), []
    original = np.lib.format.write_array

    def fail(file, *arguments, **options):
        calls.append(file)
        if len(calls) > 5:
            raise failure
        original(file, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(np.lib.format, "write_array", fail)
        for place in (path, tmp_path / "new"):
            with pytest.raises(type(failure)):
                sticktree.save(fitted("shared")[0], place)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["it.sticktree"]


def through(path, *arrays):
    write_archive(path, "test", 1, {"a": 1}, arrays)
    with open_archive(path, {"test": [1]}) as archive:
        assert archive.document() == {"a": 1}
        return [archive.array(k) for k in range(len(arrays))]


def test_arrays_are_little_endian_in_the_file_and_native_when_read(tmp_path):
    mixed = np.array([(1, 2.0)], dtype=[("a", ">i4"), ("b", "<f8")])
    arrays = [np.arange(3.0).astype(">f8"), np.array(["ü"]).astype(">U3"), mixed, np.arange(3)]
    read = through(tmp_path / "it", *arrays)
    for array, again in zip(arrays, read, strict=True):
        assert again.dtype.isnative
        np.testing.assert_array_equal(array, again)
    with zipfile.ZipFile(tmp_path / "it") as file:
        heads = [file.read(f"arrays/{k}.npy")[:128] for k in range(len(arrays))]
    assert all(b">" not in head and b"<" in head for head in heads)


def test_arrays_of_any_shape_survive(tmp_path):
    arrays = [np.empty((0, 3)), np.array(2.5), np.arange(6.0).reshape(2, 3).T, np.ones((4, 4))[::2]]
    for array, again in zip(arrays, through(tmp_path / "it", *arrays), strict=True):
        np.testing.assert_array_equal(array, again)
        assert (array.shape, array.dtype) == (again.shape, again.dtype)


def test_arrays_are_compressed_where_it_pays(tmp_path):
    numbers = np.random.default_rng(0).standard_normal(10_000)
    through(tmp_path / "it", np.zeros(10_000), numbers)
    with zipfile.ZipFile(tmp_path / "it") as file:
        zeros, noise = file.infolist()[2:]
    assert zeros.compress_size < 1000
    assert noise.compress_type == zipfile.ZIP_STORED


def test_missing_package_is_no_damage(tmp_path):
    write_archive(tmp_path / "it", "test", 1, None, [])
    with pytest.raises(ImportError, match="install"), open_archive(tmp_path / "it", {"test": [1]}):
        raise ImportError("install it")
