"""Model files that were damaged, cut, or made to do harm, with right checksums and wrong ones."""

import hashlib
import io
import json
import zipfile
from functools import cache, partial

import numpy as np
import pandas as pd

from manykernels import MKLClassifier, MKLRegressor, MKLRegressorCV, load
from manykernels.store import ModelFileError
from manykernels.tables import Settings, fit_table, split_table

from .case import Case, rows
from .oracle import WrongError, judged, require

X, Y = rows(40)
FRAME = pd.DataFrame(X, columns=list("abc")).assign(kind=np.where(X[:, 1] > 0, "up", "down"))

WRONG = [
    None, True, -1, 0, 1, 2.5, 10**9, 10**400, -(10**30), 1e308, "", "text", "$array", "../../x",
    [], [[]], {}, {"a": 1}, {"$float": "nan"}, {"$float": "-inf"}, {"$float": "x"}, {"$array": 0},
    {"$array": -1}, {"$array": 10**6}, {"$tuple": []}, {"$object": ["MKLRegressor", {}]},
    {"$object": ["Popen", {"args": "true"}]}, {"$function": "rbf"}, {"$function": "eval"},
    {"$indices": [{"$array": 0}, {"$array": 1}]}, {"$objects": [1]}, {"$unknown": 1},
    {"$columns": [[2, 2], {"$array": 0}, {"$array": 0}, {"$array": 0}]},
]  # fmt: skip


def table_model():
    settings = Settings("y", degree=[1])
    return fit_table(split_table(FRAME.assign(y=Y), settings), settings)


MODELS = {
    "linear": lambda: MKLRegressor(degree=2, p=1).fit(X, Y),
    "tuples": lambda: MKLRegressor(degree=2, p=2, index_set="tuples").fit(X, Y),
    "spline": lambda: MKLRegressor("auto", degree=1, p=1).fit(X, Y),
    "rbf": lambda: MKLRegressor("rbf", degree=1).fit(X, Y),
    "classes": lambda: MKLClassifier(degree=1).fit(X, np.array(["a", "b", "c"])[np.arange(40) % 3]),
    "chosen": lambda: MKLRegressorCV(degree=1, n_alphas=3, cv=3).fit(X, Y),
    "table": table_model,
}
VALUES_EACH, BYTES_EACH = 45, 25


@cache
def content(name, folder):
    return MODELS[name]().save(folder / f"{name}.mk").read_bytes()


@cache
def unpacked(name, folder):
    return unpacked_file(io.BytesIO(content(name, folder)))


@cache
def unpacked_file(file):
    """Return the manifest of a model file and the contents of its parts."""
    with zipfile.ZipFile(file) as archive:
        contents = {one: archive.read(one) for one in archive.namelist()}
    return json.loads(contents["manifest.json"]), contents


def sealed(manifest, contents):
    """Return a file whose checksums are all right, as a forger would make it."""
    files = {one: hashlib.sha256(contents[one]).hexdigest() for one in manifest["files"]}
    text = json.dumps({**manifest, "files": files}).encode()
    seal = hashlib.sha256(text).hexdigest().encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        parts = {**contents, "manifest.json": text, "manifest.sha256": seal}
        for one, part in parts.items():
            archive.writestr(one, part)
    return out.getvalue()


def places(tree, path=()):
    """Yield the places of all values in a tree."""
    yield path
    items = enumerate(tree) if isinstance(tree, list) else ()
    for key, part in tree.items() if isinstance(tree, dict) else items:
        yield from places(part, (*path, key))


def replaced(tree, path, value):
    """Return a copy of a tree with another value at a place."""
    if not path:
        return value
    out = tree.copy()
    out[path[0]] = replaced(tree[path[0]], path[1:], value)
    return out


def another_value(name, rng, folder):
    manifest, contents = unpacked(name, folder)
    tree = manifest["model"]
    found = list(places(tree))
    for _ in range(int(rng.integers(1, 3))):
        tree = replaced(
            tree, found[int(rng.integers(1, len(found)))], WRONG[rng.integers(len(WRONG))]
        )
        found = list(places(tree))
    return sealed({**manifest, "model": tree}, contents)


def another_array(name, rng, folder):
    manifest, contents = unpacked(name, folder)
    arrays = [one for one in contents if one.endswith(".npy")]
    one = arrays[int(rng.integers(len(arrays)))]
    old = np.load(io.BytesIO(contents[one]))
    numbers = old.dtype.kind in "iuf"
    choices = [old[..., None], old[:0], old.astype(str), np.concatenate([old, old]), old[..., :-1]]
    if numbers:
        choices += [-old - 1, old * 10**9, old.astype(float) * np.nan, old.astype(np.float32)]
        choices += [old.astype(complex), old + 0.5, old * 0]
    stream = io.BytesIO()
    np.save(stream, choices[int(rng.integers(len(choices)))])
    return sealed(manifest, {**contents, one: stream.getvalue()})


def other_bytes(name, rng, folder):
    whole = bytearray(content(name, folder))
    what = rng.integers(4)
    if what == 0:
        return bytes(whole[: int(rng.integers(len(whole)))])
    if what == 1:
        return bytes(whole) + bytes(rng.integers(0, 256, size=40).tolist())
    for place in rng.integers(len(whole), size=int(rng.integers(1, 9))):
        whole[place] = int(rng.integers(256))
    return bytes(whole[::-1] if what == 2 else whole)


def checked(name, make, seed, folder):
    """Load a bad file: it is refused, or the model predicts."""
    path = folder / f"{name}-{seed}.mk"
    path.write_bytes(make(name, np.random.default_rng([seed, len(name)]), folder))
    before = path.read_bytes()
    try:
        model = load(path)
    except ModelFileError as error:
        require(str(path) in str(error), f"the message does not name the file: {error}")
        raise
    finally:
        require(path.read_bytes() == before, "the file was changed")
        path.unlink()
    try:
        data = FRAME if name == "table" else X
        require(len(model.predict(data)) == 40, "predictions of other rows")
        if name != "classes":
            model.contributions(data)
        model.explain(3)
    except (Exception, WrongError) as error:
        if str(error).startswith("device must be one that PyTorch can use here"):
            raise  # where a model may live is another machine's to know: clear when it is needed
        raise WrongError(f"loaded, and failed later: {type(error).__name__}: {error}") from error


def cases():
    """Return all cases of this surface."""
    kinds = {"value": another_value, "array": another_array, "bytes": other_bytes}
    counts = {"value": VALUES_EACH, "array": VALUES_EACH, "bytes": BYTES_EACH}
    found = []
    for name in MODELS:
        for kind, make in kinds.items():
            for seed in range(counts[kind]):

                def run(folder, name=name, make=make, seed=seed):
                    return judged(partial(checked, name, make, seed, folder), r"\.mk|device=None")

                found.append(Case("files", f"{name}: {kind} {seed}", run))
    return found
