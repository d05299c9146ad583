"""Ways in which files can be wrong, at random: arrays, JSON, text, zips."""

import functools
import io
import json
import zipfile

import numpy as np

INTEGERS = (
    -1,
    0,
    1,
    2,
    7,
    127,
    128,
    255,
    256,
    65_535,
    2**31 - 1,
    2**31,
    2**40,
    2**63 - 1,
    -(2**63),
)
FLOATS = (0.0, -0.0, -1.0, 1.0, 1e-300, 1e300, -1e300, 1e-8, 1e8, np.nan, np.inf, -np.inf, 0.5)
WORDS = ("", "x", "None", "é" * 50, "../../x", "array", "1e999", "\x00", "=1+1", "NaN", "a" * 5000)
VALUES = (None, True, False, 0, -1, 1, 2, 10**9, 10**18, 2**70, 0.5, -1e300, "", "x", [], {}, [[]])


def pick(rng, items):
    return items[int(rng.integers(len(items)))]


# ---- arrays --------------------------------------------------------------------------------------


def wrong_array(rng, array):
    """Return an array like another, with other entries, of another shape or of another type."""
    way = pick(
        rng, (_entries, _entries, _entries, _entries, _nearby, _nearby, _swapped, _shape, _type)
    )
    with np.errstate(all="ignore"):
        return way(rng, array.copy())


def _field(rng, array):
    """Return an array, or one of the fields of its records."""
    return array[pick(rng, array.dtype.names)] if array.dtype.names else array


def _places(rng, part):
    size = pick(rng, (1, 1, 1, 2, max(part.size // 2, 1), part.size))
    return rng.integers(part.size, size=size)


def _entries(rng, array):
    if array.size == 0:
        return _shape(rng, array)
    part = _field(rng, array)
    flat = part.reshape(-1) if part.flags.c_contiguous else part
    at = _places(rng, part) if flat.ndim == 1 else ()
    if part.dtype.kind == "f":
        flat[at] = pick(rng, FLOATS)
    elif part.dtype.kind in "iu":
        flat[at] = np.array(pick(rng, INTEGERS) & (2**64 - 1), dtype=np.uint64).astype(part.dtype)
    elif part.dtype.kind == "b":
        flat[at] ^= True
    elif part.dtype.kind == "U":
        flat[at] = pick(rng, WORDS)
    return array


def _nearby(rng, array):
    """Change entries by little: what is nearly right comes furthest."""
    part = _field(rng, array)
    if array.size == 0 or part.dtype.kind not in "iuf" or part.ndim == 0:
        return _entries(rng, array)
    at = np.unravel_index(_places(rng, part), part.shape)
    if part.dtype.kind == "f":
        part[at] = part[at] * pick(rng, (-1.0, 0.5, 2.0, 1e3, 1e-3, 1e30, 1e-30))
    else:
        part[at] = part[at] + np.array(pick(rng, (1, 2**64 - 1, 2)), np.uint64).astype(part.dtype)
    return array


def _swapped(rng, array):
    part = _field(rng, array)
    if part.size > 1 and part.ndim:
        one, other = rng.integers(len(part), size=2)
        part[[one, other]] = part[[other, one]]
    return array


def _shape(rng, array):
    ways = (
        lambda: array[:0] if array.ndim else array[None],
        lambda: array[:-1] if array.ndim else array.reshape(1, 1),
        lambda: np.concatenate([array, array]) if array.ndim else np.array([array, array]),
        lambda: array.ravel(),
        lambda: array.T,
        lambda: array[None],
        lambda: array[..., None],
        lambda: array[::-1] if array.ndim else array,
        lambda: np.asfortranarray(array),
    )
    return np.array(pick(rng, ways)())


def _type(rng, array):
    kind = pick(
        rng, ("f4", "f8", "i1", "i8", "u1", "u8", "?", "U5", "S5", "c16", ">f8", "M8[s]", "f2")
    )
    try:
        return array.astype(kind)
    except (TypeError, ValueError, RuntimeError):  # the last of dates that are too long
        return np.zeros(array.shape, kind)


def npy(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)
    return file.getvalue()


def wrong_npy(rng, content):
    """Return the bytes of an array with something wrong in the header, or with others behind it."""
    ways = (
        lambda: content[: int(rng.integers(len(content) + 1))],
        lambda: content + bytes(int(rng.integers(1, 100))),
        lambda: _flipped(rng, content, 128),
        lambda: _header(rng, content),
        lambda: _header(rng, content),
    )
    return pick(rng, ways)()


def _flipped(rng, content, most):
    wrong = bytearray(content)
    for at in rng.integers(min(len(wrong), most), size=int(rng.integers(1, 4))):
        wrong[at] ^= int(rng.integers(1, 256))
    return bytes(wrong)


def _header(rng, content):
    texts = (
        "{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 1000000000000), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (100000000000,), }",
        "{'descr': '|V0', 'fortran_order': False, 'shape': (100000000000,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': [('a', '<f8')], 'fortran_order': 1, 'shape': 3, }",
        "{'descr': None, 'fortran_order': False, 'shape': (3,), }",
        "(" * 9000,
        "[" * 200 + "]" * 200,
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,",
        "'" * 3,
        "{}",
        "1" * 5000,
        "{'descr': ('<f8', (100000, 100000, 1000)), 'fortran_order': False, 'shape': (3,), }",
    )
    text = pick(rng, texts).encode() + b"\n"
    version = pick(rng, (1, 1, 2, 3, 9))
    length = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + content[128:]


# ---- JSON and text -------------------------------------------------------------------------------


def wrong_json(rng, document, times=1):
    """Return a document with something else in one place, or in several."""
    document = json.loads(json.dumps(document))
    for _ in range(times):
        holders = [(holder, key) for holder, key in _places_in(document)]
        if not holders:
            return pick(rng, VALUES)
        holder, key = pick(rng, holders)
        other, place = pick(rng, holders)
        way = int(rng.integers(6))
        if way == 0:
            holder.pop(key)
        elif way == 1:
            holder[key] = json.loads(json.dumps(other[place]))
        elif way == 2 and isinstance(holder[key], int | float):
            holder[key] = pick(rng, (holder[key] + 1, holder[key] - 1, -holder[key], 10**9))
        elif way == 3 and isinstance(holder, dict):
            holder[pick(rng, (*WORDS[1:4], "same", "draws", "tree", "dict"))] = holder.pop(key)
        else:
            holder[key] = pick(rng, VALUES)
    return document


def _places_in(document):
    """Yield every place of a document: what holds it, and its key."""
    waiting = [document]
    while waiting:
        holder = waiting.pop()
        keys = holder if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            yield holder, key
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])


def wrong_bytes(rng, content):
    """Return bytes of which some are others, missing, doubled or strange."""
    if not content:
        return b"\x00"
    a, b = sorted(int(k) for k in rng.integers(len(content) + 1, size=2))
    ways = (
        lambda: _flipped(rng, content, len(content)),
        lambda: _flipped(rng, content, len(content)),
        lambda: content[:a],
        lambda: content[:a] + content[b:],
        lambda: content[:b] + content[a:],
        lambda: (
            content[:a] + pick(rng, (b",", b'"', b"\n", b"\x00", b"\xff\xfe", b"=")) + content[a:]
        ),
        lambda: content[:a] + rng.bytes(8) + content[b:],
        lambda: b"",
    )
    return pick(rng, ways)()


# ---- zips ----------------------------------------------------------------------------------------


def members_of(content):
    return dict(_members_of(content))  # which may be changed


@functools.lru_cache(maxsize=64)  # a corpus has fewer files, and thousands of cases begin with one
def _members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {info.filename: file.read(info) for info in file.infolist()}


def zipped(members, compression=zipfile.ZIP_DEFLATED):
    """Return a zip of members, given as pairs or as a dict, with the right checksums."""
    file = io.BytesIO()
    pairs = members.items() if isinstance(members, dict) else members
    with zipfile.ZipFile(file, "w", compression) as new:
        for name, content in pairs:
            new.writestr(name, content)
    return file.getvalue()


def wrong_zip(rng, content):
    """Return a zip with members missing, doubled or huge, of other kinds, or with wrong flags."""
    members = members_of(content)
    name = pick(rng, list(members))
    ways = (
        lambda: zipped({k: v for k, v in members.items() if k != name}),
        lambda: _doubled(rng, members, name),
        lambda: zipped(members | {name: bytes(int(rng.integers(1, 30)) * 10**6)}),
        lambda: zipped(members | {name: b"\x93NUMPY" + bytes(10**6)}),
        lambda: zipped(
            members, pick(rng, (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_STORED))
        ),
        lambda: _flags(rng, content),
        lambda: _directory(rng, content),
        lambda: zipped(members | {name: members[pick(rng, list(members))]}),
        lambda: wrong_bytes(rng, content),
    )
    return pick(rng, ways)()


def _doubled(rng, members, name):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return zipped([*members.items(), (name, wrong_bytes(rng, members[name]))])


def _flags(rng, content):
    """Set flags of a member in the directory: encrypted, patched, of another compression."""
    wrong = bytearray(content)
    at = content.index(b"PK\x01\x02")
    place = pick(rng, (8, 9, 10, 11))
    wrong[at + place] = int(rng.integers(256))
    return bytes(wrong)


def _directory(rng, content):
    """Have a member say another size, place or checksum."""
    wrong = bytearray(content)
    starts = [k for k in range(len(content) - 4) if content[k : k + 4] == b"PK\x01\x02"]
    at = pick(rng, starts) + pick(rng, (16, 20, 24, 28, 42))
    wrong[at : at + 4] = pick(rng, (b"\xff\xff\xff\x7f", b"\x00" * 4, rng.bytes(4)))
    return bytes(wrong)
