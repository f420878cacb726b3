"""Model files made to do harm: bounded in time and memory, refused at load, in words."""

import hashlib
import io
import json
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest

import manykernels
from manykernels import MKLClassifier, MKLRegressor, load
from manykernels.store import ModelFileError
from manykernels.store.files import MANIFEST_BYTES
from manykernels.tables import Settings, fit_table, split_table

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = X[:, 0] * X[:, 1] + X[:, 2]
MOST_BYTES = 32 * 2**20
"""Bytes that a refusal may take. Files here hold kilobytes of their own."""


def table_model():
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["kind"] = np.where(X[:, 1] > 0, "up", "down")
    frame["y"] = y
    settings = Settings("y", degree=[1])
    return fit_table(split_table(frame, settings), settings)


MODELS = {
    "linear": lambda: MKLRegressor(alpha=1e-3, degree=2, p=1).fit(X, y),
    "spline": lambda: MKLRegressor(alpha=1e-3, kernels="auto", degree=2, p=1).fit(X, y),
    "rbf": lambda: MKLRegressor(alpha=1e-3, kernels="rbf", degree=1).fit(X, y),
    "widths": lambda: MKLRegressor(kernels="widths", random_state=0).fit(X, y),
    "both": lambda: MKLRegressor(kernels="both", random_state=0).fit(X, y),
    "classes": lambda: MKLClassifier(alpha=1e-3, degree=1).fit(X, np.arange(40) % 3),
    "table": table_model,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {name: make().save(folder / f"{name}.mk") for name, make in MODELS.items()}


def unpacked(file):
    with zipfile.ZipFile(file) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(contents["manifest.json"]), contents


def sealed(path, manifest, contents):
    """Write a file whose checksums are all right, as a forger would."""
    for name in manifest["files"]:
        manifest["files"][name] = hashlib.sha256(contents[name]).hexdigest()
    text = json.dumps(manifest).encode()
    digest = hashlib.sha256(text).hexdigest().encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {
            **contents,
            "manifest.json": text,
            "manifest.sha256": digest,
        }.items():
            archive.writestr(name, content)
    return path


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def refused(path, words):
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=words):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def test_a_manifest_that_grows_on_reading(tmp_path):
    path = tmp_path / "m.mk"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("manifest.json", "w") as part,
    ):
        for _ in range(MANIFEST_BYTES // 2**20 + 1):
            part.write(b" " * 2**20)
    assert path.stat().st_size < 2**18
    refused(path, "manifest.json in it has 68,157,440 bytes; at most 67,108,864 are read")


def test_a_manifest_that_lies_about_its_size(tmp_path):
    path = tmp_path / "m.mk"
    content = b" " * 2**27
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", content)
    whole = bytearray(path.read_bytes())
    for place in (22, whole.rindex(b"PK\x01\x02") + 24):  # of the size, in both headers
        assert whole[place : place + 4] == struct.pack("<I", len(content))
        whole[place : place + 4] = struct.pack("<I", 1000)
    path.write_bytes(whole)
    del content
    refused(path, "no model file")


@pytest.mark.parametrize("shape", ["(1000000000000,)", "(1000000, 1000000)", "(-1,)", "(3, -7)"])
def test_arrays_that_declare_what_they_do_not_hold(files, tmp_path, shape):
    manifest, contents = unpacked(files["linear"])
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    contents["arrays/0.npy"] = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode()
    refused(sealed(tmp_path / "m.mk", manifest, contents), "an array")


@pytest.mark.parametrize("kind", ["<U0", "<f8", "<U100000000", "|b1"])
@pytest.mark.parametrize("shape", ["(1000000000,)", "(0, 1000000000)", "(1000000000, 0)", "(0,)"])
def test_arrays_whose_items_or_sides_take_no_bytes(files, tmp_path, shape, kind):
    manifest, contents = unpacked(files["linear"])
    if shape == "(0,)" and "0000" not in kind:
        return  # a sound array without values
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    for name in manifest["files"]:
        contents[name] = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode()
    refused(sealed(tmp_path / "m.mk", manifest, contents), "an array of shape")


LENGTHS = {
    "negative": ([10**5, -(10**5)] * 1000, 10**5),
    "too many": ([10**5] * 1000, 10**5),
    "too few": ([1], 10**5),
    "fractions": ([0.5] * 10, 5),
    "truth values": ([True] * 10, 10),
    "in two columns": (np.ones((10, 1), dtype=int), 10),
    "beyond 64 bits": ([2**62] * 4, 0),
}


@pytest.mark.parametrize("case", LENGTHS)
def test_kernels_of_lengths_that_are_none(files, tmp_path, case):
    manifest, contents = unpacked(files["spline"])
    lengths, total = LENGTHS[case]
    forged = {"0": np.asarray(lengths), "1": np.zeros(total, dtype=int)}
    contents |= {f"arrays/{number}.npy": npy(array) for number, array in forged.items()}
    manifest["model"] = {"$indices": [{"$array": 0}, {"$array": 1}]}
    refused(sealed(tmp_path / "m.mk", manifest, contents), "kernels are of other lengths")


def test_little_text_that_stands_for_much(files, tmp_path):
    manifest, contents = unpacked(files["linear"])
    contents |= {"arrays/0.npy": npy(np.ones(10**4, dtype=int))}
    manifest["model"] = [{"$indices": [{"$array": 0}, {"$array": 0}]}] * 10_000
    refused(sealed(tmp_path / "m.mk", manifest, contents), "parts of too many things")
    contents |= {"arrays/1.npy": npy(np.zeros(10**4, dtype=int))}
    contents |= {"arrays/2.npy": npy(np.array([0, 10**4]))}
    parts = [{"$array": number} for number in range(3)]
    manifest["model"] = [{"$columns": [[rows, 1], *parts]} for rows in range(1, 10_000)]
    refused(sealed(tmp_path / "m.mk", manifest, contents), "parts of too many things")


def test_products_in_files_of_older_versions(files, tmp_path):
    """Lists of degrees and of p, of which all pairs were made."""
    manifest, contents = unpacked(files["linear"])
    contents |= {"arrays/0.npy": npy(np.arange(10**5)), "arrays/1.npy": npy(np.zeros(3))}
    kind, state = manifest["model"]["$object"]
    state |= dict.fromkeys(("_kernels", "_scaler", "_predictor", "_candidate", "_place"))
    state |= {"degree": {"$array": 0}, "p": {"$array": 0}}
    state |= {"score_path_": {"$array": 1}, "alphas_": {"$array": 1}, "best_score_": 0.0}
    manifest["model"] = {"$object": [kind, state]}
    refused(sealed(tmp_path / "m.mk", manifest, contents), "3 scores are of 100000 degrees")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_to_compress(files, tmp_path, method):
    """That of LZMA names a size of memory, up to 4 GB, which is taken at once."""
    _, contents = unpacked(files["linear"])
    with zipfile.ZipFile(tmp_path / "m.mk", "w", method) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    refused(tmp_path / "m.mk", f"manifest.json in it is compressed by method {method}")


def test_arrays_beyond_the_memory_of_the_machine(files, tmp_path, monkeypatch):
    monkeypatch.setattr("manykernels.store.files.machine_bytes", lambda: 4096)
    refused(files["rbf"], r"arrays/\d+.npy in it has .* bytes; at most")


@pytest.mark.skipif(os.name != "posix", reason="devices and pipes of POSIX")
def test_devices_and_pipes(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", "/dev/null", tmp_path):
        refused(path, "is no file: a folder, a device or a pipe")


def test_deep_trees(files, tmp_path):
    manifest, contents = unpacked(files["linear"])
    text = json.dumps({**manifest, "model": "HERE"}).replace('"HERE"', "[" * 20_000 + "]" * 20_000)
    contents["manifest.json"] = text.encode()
    contents["manifest.sha256"] = hashlib.sha256(text.encode()).hexdigest().encode()
    path = tmp_path / "m.mk"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    refused(path, "no model")


def nodes(tree, path=()):
    """Yield the places of all values in a tree."""
    yield path
    items = enumerate(tree) if isinstance(tree, list) else ()
    if isinstance(tree, dict):
        items = tree.items()
    for key, part in items:
        yield from nodes(part, (*path, key))


def replaced(tree, path, value):
    """Return a copy of a tree with another value at a place."""
    tree = json.loads(json.dumps(tree))
    if not path:
        return value
    at = tree
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return tree


WRONG = [None, -1, 10**9, "text", [], {}, {"$float": "nan"}, {"$array": 0}, {"$array": 10**6}]


@pytest.mark.parametrize("name", MODELS)
def test_any_other_value_is_refused_or_harmless(files, name, tmp_path):
    """Each of 120 values drawn from the tree is replaced by one of another kind."""
    manifest, contents = unpacked(files[name])
    places = list(nodes(manifest["model"]))
    draw = np.random.default_rng(len(places))
    rows, path = pd.DataFrame(X, columns=list("abc")).assign(kind="up"), tmp_path / "m.mk"
    if name != "table":
        rows = X
    done = 0
    for place in draw.choice(len(places), size=min(120, len(places)), replace=False).tolist():
        value = WRONG[int(draw.integers(len(WRONG)))]
        other = {**manifest, "model": replaced(manifest["model"], places[place], value)}
        sealed(path, other, contents)
        try:
            model = load(path)
        except ModelFileError:
            done += 1
            continue
        if places[place][-1:] == ("device",) and value is not None:  # may be one of another machine
            with pytest.raises((ValueError, ImportError), match="device=None for the CPU"):
                model.predict(rows)
            continue
        assert len(model.predict(rows)) == len(rows), (places[place], value)
        if name != "table":
            model.explain(3)
    assert done > 20


@pytest.mark.parametrize(
    ("name", "field", "values"),
    [
        ("linear", "closed", [0, "yes", [], {"$array": 0}]),
        ("classes", "device", [-1, [], {"$array": 0}]),
        ("classes", "softmax", [None, 1, "yes", []]),
    ],
)
def test_fields_of_another_kind_are_refused(files, name, field, values, tmp_path):
    manifest, contents = unpacked(files[name])
    place = next(p for p in nodes(manifest["model"]) if p[-1:] == (field,))
    for value in values:
        other = {**manifest, "model": replaced(manifest["model"], place, value)}
        sealed(tmp_path / "m.mk", other, contents)
        with pytest.raises(ModelFileError, match=field):
            load(tmp_path / "m.mk")


@pytest.mark.parametrize("name", MODELS)
def test_arrays_of_other_shapes_types_and_values(files, name, tmp_path):
    manifest, contents = unpacked(files[name])
    rows, path = pd.DataFrame(X, columns=list("abc")).assign(kind="up"), tmp_path / "m.mk"
    if name != "table":
        rows = X
    arrays = [one for one in contents if one.endswith(".npy")]
    for number, one in enumerate(arrays):
        old = np.load(io.BytesIO(contents[one]))
        others = [old[..., None], old.astype(str), np.full(old.shape, np.nan), old[:0], -old - 1]
        if old.dtype.kind not in "biuf":
            others = others[:1]
        elif old.dtype.kind == "b":
            others = others[:2]
        wrong = others[number % len(others)]
        sealed(path, manifest, {**contents, one: npy(wrong)})
        try:
            model = load(path)
        except ModelFileError:
            continue
        assert len(model.predict(rows)) == len(rows), one


@pytest.mark.parametrize("kind", ["Candidate", "Squared", "StandardScaler", "TableEncoder"])
def test_objects_that_are_no_models(files, tmp_path, kind):
    manifest, contents = unpacked(files["linear"])
    manifest["model"] = {"$object": [kind, {}]}
    refused(sealed(tmp_path / "m.mk", manifest, contents), f"it holds a {kind}, no model")
    for value in (None, 3, "text", [1]):
        manifest["model"] = value
        refused(sealed(tmp_path / "m.mk", manifest, contents), "no model")


def test_sparse_matrices_with_rows_that_are_not_there(files, tmp_path):
    manifest, contents = unpacked(files["rbf"])
    count = len(manifest["files"])
    parts = np.ones(1), np.array([10**6]), np.array([0, 1, 1, 1])
    for i, part in enumerate(parts):
        name = f"arrays/{count + i}.npy"
        contents[name], manifest["files"][name] = npy(part), ""
    tree = {"$columns": [[2, 3], *({"$array": count + i} for i in range(3))]}
    manifest["model"]["$object"][1]["theta_"] = tree
    refused(sealed(tmp_path / "m.mk", manifest, contents), "indices|index")


def arrays_called(tree, name):
    """Yield the numbers of the arrays that attributes of a name refer to."""
    for place in nodes(tree):
        at = tree
        for key in place:
            at = at[key]
        if place and place[-1] == name and isinstance(at, dict) and "$array" in at:
            yield at["$array"]


@pytest.mark.parametrize("change", [-1.0, 1e12, 1e200, np.nan, np.inf, 0.0])
@pytest.mark.parametrize("name", ["places", "evenly", "knots", "axes", "lowest"])
def test_numbers_that_cells_of_splines_are_made_of(files, tmp_path, name, change):
    """Each makes numbers of cells that are not there: memory of others, if it is let."""
    manifest, contents = unpacked(files["both"])
    for number in set(arrays_called(manifest["model"], name)):
        one = f"arrays/{number}.npy"
        with np.errstate(invalid="ignore"):
            contents[one] = npy(np.load(io.BytesIO(contents[one])) * change)
    path = sealed(tmp_path / "m.mk", manifest, contents)
    try:
        model = load(path)
    except ModelFileError:
        return
    assert np.isfinite(change)
    assert name != "evenly" or not change
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("shape", ["", "terms", "Terms", "gaussian", None, 3])
def test_kernels_of_another_kind(files, tmp_path, shape):
    manifest, contents = unpacked(files["both"])
    tree = manifest["model"]
    place = next(p for p in nodes(tree) if p[-4:] == ("indices", 0, "$tuple", 0))
    sealed(tmp_path / "m.mk", {**manifest, "model": replaced(tree, place, shape)}, contents)
    try:
        model = load(tmp_path / "m.mk")
    except ModelFileError:
        assert shape != "terms"
        return
    assert shape == "terms"  # which it was
    model.explain(3)


@pytest.mark.parametrize("widths", [[1e-3], [1.0, 1.0], [-1.0, 1.0, 1.0], ["a"], [10**9]])
def test_kernels_of_other_widths(files, tmp_path, widths):
    manifest, contents = unpacked(files["widths"])
    tree = manifest["model"]
    place = next(p for p in nodes(tree) if p[-5:] == ("indices", 0, "$tuple", 2, "$tuple"))
    sealed(tmp_path / "m.mk", {**manifest, "model": replaced(tree, place, widths)}, contents)
    refused(tmp_path / "m.mk", "no kernel with widths is")


def test_right_files_are_read(files):
    for file in files.values():
        assert isinstance(load(file), MKLRegressor | MKLClassifier | manykernels.tables.TableModel)
