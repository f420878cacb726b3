"""Bad tables and options of the commands, run in this process."""

import gzip
import json
import os
from functools import cache, partial

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from manykernels.cli.app import app
from manykernels.tables import Settings, fit_table, split_table

from .case import Case
from .oracle import SaidError, judged, require, unclear_output


def invoke(names, *arguments, outputs=()):
    """Run a command; it gives a right answer or a clear message, and leaves no half of a file.

    A clear message is raised as SaidError.
    """
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        require(False, f"{type(done.exception).__name__}: {done.exception}")
    if done.exit_code == 0:
        require("Traceback" not in done.output, done.output[-500:])
        for path in outputs:
            require(path.exists() and path.stat().st_size > 0, f"{path.name} was not written")
    else:
        flaw = unclear_output(done.output, done.exit_code, names)
        require(not flaw, flaw)
        for path in outputs:
            require(not path.exists(), f"{path.name} was written by a command that failed")
    strays = [one for path in outputs for one in os.listdir(path.parent) if one.endswith(".part")]
    require(not strays, f"drafts are left: {strays}")
    if done.exit_code:
        raise SaidError(done.output)
    return done


def table(rows=40, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 2)), columns=["a", "b"])
    frame["k"] = np.where(rng.random(rows) < 0.5, "up", "down")
    frame["y"] = frame["a"] + 0.1 * rng.normal(size=rows)
    return frame


@cache
def ready(folder):
    """Return the folder with a table and a model of it."""
    table().to_csv(folder / "good.csv", index=False)
    settings = Settings("y", kernels="linear", degree=[1])
    fit_table(split_table(table(), settings), settings).save(folder / "good.mk")
    return folder


def csv(frame=None, **options):
    return (table() if frame is None else frame).to_csv(index=False, **options).encode()


GOOD = csv()
LINES = GOOD.split(b"\n")


def with_cell(value, column="a", row=3):
    frame = table().astype({column: object})
    frame.loc[row, column] = value
    return csv(frame)


def with_column(name, values):
    return csv(table().assign(**{name: values}))


CELLS = {
    "text": "abc",
    "empty": "",
    "nan": "nan",
    "infinite": "inf",
    "minus infinite": "-inf",
    "1e999": "1e999",
    "1e300": "1e300",
    "1e-310": "1e-310",
    "hex": "0x1F",
    "thousands": "1,234.5",
    "comma": "1,5",
    "percent": "12%",
    "money": "$5",
    "formula": "=1+1",
    "script": "<script>alert(1)</script>",
    "quote": 'a"b',
    "line break": "a\nb",
    "zero byte": "a\0b",
    "long": "w" * 200_000,
    "emoji": "\U0001f600",
    "right to left": "\u202eabc",
    "escape": "\x1b[31mred",
    "date": "2020-01-01",
    "no date": "2020-02-30",
    "time": "12:30",
    "true": "True",
    "complex": "1+2j",
    "underscore": "1_000",
    "unicode digits": "\u0661\u0662",
    "fraction": "1/2",
    "space": " 1 ",
    "no-break space": "\u00a01",
    "huge digits": "9" * 400,
    "many digits": "0." + "1" * 400,
    "list": "[1, 2]",
    "markup": "[bold]x[/bold]",
}

FILES = {
    "empty": b"",
    "one byte": b"a",
    "newline": b"\n",
    "header": LINES[0],
    "header twice": LINES[0] + b"\n" + GOOD,
    "one row": b"\n".join(LINES[:2]),
    "two rows": b"\n".join(LINES[:3]),
    "five rows": b"\n".join(LINES[:6]),
    "no header": b"\n".join(LINES[1:]),
    "too few values": b"\n".join([*LINES[:5], b"1,2", *LINES[5:]]),
    "too many values": b"\n".join([*LINES[:5], b"1,2,up,4,5,6", *LINES[5:]]),
    "open quote": b"\n".join([*LINES[:5], b'1,"2,up,4', *LINES[5:]]),
    "names twice": GOOD.replace(b"a,b,k,y", b"a,a,k,y"),
    "no name": GOOD.replace(b"a,b,k,y", b"a,,k,y"),
    "no names": GOOD.replace(b"a,b,k,y", b",,,"),
    "names of spaces": GOOD.replace(b"a,b,k,y", b" , ,k,y"),
    "odd names": GOOD.replace(b"a,b,k,y", b"[a],<b>,k,y"),
    "semicolons": GOOD.replace(b",", b";"),
    "tabs": GOOD.replace(b",", b"\t"),
    "bars": GOOD.replace(b",", b"|"),
    "colons": GOOD.replace(b",", b":"),
    "carriage returns": GOOD.replace(b"\n", b"\r"),
    "both ends": GOOD.replace(b"\n", b"\r\n"),
    "mark": b"\xef\xbb\xbf" + GOOD,
    "utf-16": GOOD.decode().encode("utf-16"),
    "utf-16-le": GOOD.decode().encode("utf-16-le"),
    "utf-32": GOOD.decode().encode("utf-32"),
    "latin-1": GOOD.replace(b"up", b"\xe9"),
    "zeros": bytes(5000),
    "random": np.random.default_rng(0).bytes(5000),
    "zip": b"PK\x03\x04" + GOOD,
    "gzip": gzip.compress(GOOD),
    "parquet": b"PAR1" + GOOD,
    "json": json.dumps(table().to_dict()).encode(),
    "html": table().to_html().encode(),
    "comment": b"# a comment\n" + GOOD,
    "blank lines": GOOD.replace(b"\n", b"\n\n"),
    "spaces": GOOD.replace(b",", b" , "),
    "only the target": csv(table()[["y"]]),
    "constant target": csv(table().assign(y=1.0)),
    "constant columns": csv(table().assign(a=1.0, b=2.0, k="x")),
    "text target": csv(table().assign(y=[f"t{i}" for i in range(40)])),
    "two classes": csv(table().assign(y=["no", "yes"] * 20)),
    "one odd class": csv(table().assign(y=["no"] * 39 + ["yes"])),
    "forty classes": csv(table().assign(y=np.arange(40).astype(str))),
    "missing target": csv(table().assign(y=np.nan)),
    "half missing target": csv(table().assign(y=np.where(np.arange(40) % 2, np.nan, 1.0))),
    "missing columns": csv(table().assign(a=np.nan, b=np.nan, k=None)),
    "large target": csv(table().assign(y=table()["y"] * 1e200)),
    "small target": csv(table().assign(y=table()["y"] * 1e-200)),
    "large column": csv(table().assign(a=table()["a"] * 1e200)),
    "small column": csv(table().assign(a=table()["a"] * 1e-200)),
    "constant of 1e30": csv(table().assign(a=1e30)),
    "identifier": csv(table().assign(id=np.arange(40))),
    "dates": csv(table().assign(d=pd.date_range("2020", periods=40))),
    "zones": csv(table().assign(d=pd.date_range("2020", periods=40, tz="UTC"))),
    "old dates": csv(table().assign(d=["0001-01-01", "9999-12-31"] * 20)),
    "copies": csv(table().assign(c=table()["a"], d=table()["a"])),
    "target copied": csv(table().assign(c=table()["y"])),
    "a name of 10,000": GOOD.replace(b"a,b,k,y", b"a" * 10_000 + b",b,k,y"),
    "many columns": csv(
        pd.concat([table(), pd.DataFrame(np.ones((40, 300))).add_prefix("c")], axis=1)
    ),
}
"""Contents of CSV files."""

FIT = ("--target", "y", "--quiet", "--kernels", "linear", "--degree", "1")
ABOUT = r"\.csv|'[aby]'|column|target|row|header|class|--|y has|y differs|separator|name"


def fit_file(content, folder, *more, names=ABOUT):
    path, model = folder / "t.csv", folder / "t.mk"
    model.unlink(missing_ok=True)
    path.write_bytes(content)
    invoke(names, "fit", path, *FIT, "--model", model, *more, outputs=[model])
    predict_file(content, folder, model)


def predict_file(content, folder, model=None):
    path, out = folder / "t.csv", folder / "out.csv"
    out.unlink(missing_ok=True)
    path.write_bytes(content)
    model = model or ready(folder) / "good.mk"
    invoke(ABOUT, "predict", model, path, "-o", out, outputs=[out])
    found = pd.read_csv(out)
    require(found.shape[0] >= 1, "no predictions")
    require(found.iloc[:, 0].notna().all(), "a prediction is missing")
    again = invoke(ABOUT, "predict", model, path, "--json")
    require(len(json.loads(again.stdout)) == len(found), "JSON and CSV differ")


def explain_file(content, folder):
    path = folder / "t.csv"
    path.write_bytes(content)
    done = invoke(ABOUT, "explain", ready(folder) / "good.mk", path, "--row", 2, "--json")
    found = json.loads(done.stdout)
    total, parts = found["total"], sum(found["contributions"].values())
    require(abs(total - found["prediction"]["y"]) <= 1e-6 * (1 + abs(total)), "another total")
    require(abs(total - parts) <= 1e-6 * (1 + abs(total)), "parts do not add up")


def report_file(content, folder):
    path, out = folder / "t.csv", folder / "out.html"
    out.unlink(missing_ok=True)
    path.write_bytes(content)
    invoke(ABOUT, "report", ready(folder) / "good.mk", path, "-o", out, outputs=[out])
    require("<script>alert(1)" not in out.read_text(), "a script of the table is in the report")


OPTIONS = {
    "target": ["z", "", " ", "Y", "a,b", "--x"],
    "task": ["", "auto", "ranking", "classification", "REGRESSION"],
    "degree": ["0", "-1", "10", "1.5", "x", "1,1", "1,2", ",", "", "1,", "9" * 30],
    "kernels": ["", "cubic", "linear,rbf", "precomputed", "LINEAR", "spline"],
    "test": ["-0.1", "0", "0.9", "0.95", "1", "nan", "inf", "x", "1e-9"],
    "seed": ["-1", "4294967296", "1.5", "x", "0", "4294967295"],
    "drop": ["z", "y", "a", "", "k"],
    "category": ["z", "y", "a", ""],
    "keep": ["z", "a", ""],
    "missing": ["", "drop", "refuse"],
    "na": ["?", "", "up", "nan"],
    "encoding": ["", "x", "latin-1", "utf-16", "rot13", "hex", "ascii", "utf-7", "\0", "\udcff"],
    "separator": ["", ";", ",,", "\n", "\t", '"', "é", " "],
    "max-rows": ["-1", "0", "19", "20", "x", "9" * 30],
    "memory": ["", "0", "-1GB", "x", "1TB", "2 GB", "1e400GB", "nan"],
    "seconds": ["0", "-1", "nan", "inf", "x", "5"],
    "top": ["0", "-1", "x", "1", "9" * 30],
    "nonsense": ["1"],
}


def with_option(name, value, folder):
    model = folder / "t.mk"
    model.unlink(missing_ok=True)
    path = ready(folder) / "good.csv"
    more = ["--chunked"] if name == "memory" else []
    base = list(FIT)
    invoke(
        f"(?i)--{name}|{name}|column|target|'y'|option|unknown|separator|degree|memory|encoding|chunked",
        "fit", path, *base, f"--{name}={value}", *more, "--model", model, outputs=[model],
    )  # fmt: skip


def paths_of(folder):
    """Return commands with odd paths, by name."""
    ready(folder)
    (folder / "sub").mkdir(exist_ok=True)
    good, model = folder / "good.csv", folder / "good.mk"
    (folder / "text.mk").write_text("no model")
    return {
        "no data": ("fit", folder / "none.csv", *FIT),
        "a folder": ("fit", folder, *FIT),
        "no ending": ("fit", folder / "good", *FIT),
        "another ending": ("fit", folder / "good.xlsx", *FIT),
        "no folder for the model": ("fit", good, *FIT, "--model", folder / "none" / "m.mk"),
        "a folder as model": ("fit", good, *FIT, "--model", folder / "sub"),
        "the data as model": ("fit", good, *FIT, "--model", good),
        "the model as report": ("fit", good, *FIT, "--model", model, "--report", model),
        "a device as model": ("fit", good, *FIT, "--model", "/dev/null"),
        "no model": ("predict", folder / "none.mk", good),
        "text as model": ("predict", folder / "text.mk", good),
        "data as model": ("predict", good, good),
        "a folder to load": ("predict", folder / "sub", good),
        "the data as output": ("predict", model, good, "-o", good),
        "the model as output": ("predict", model, good, "-o", model),
        "a folder as output": ("predict", model, good, "-o", folder / "sub"),
        "no row": ("explain", model, good),
        "row 0": ("explain", model, good, "--row", "0"),
        "row 41": ("explain", model, good, "--row", "41"),
        "a row of nothing": ("explain", model, "--row", "1"),
        "a label": ("explain", model, good, "--row", "1", "--label", "up"),
        "report of nothing": ("report", model, folder / "none.csv"),
        "no command": ("nonsense",),
        "no arguments": ("fit",),
        "a long path": ("fit", folder / ("a" * 300 + ".csv"), *FIT),
        "a zero byte": ("predict", model, f"{folder}/a\0b.csv"),
    }


PATHS = [
    "no data", "a folder", "no ending", "another ending", "no folder for the model",
    "a folder as model", "the data as model", "the model as report", "a device as model",
    "no model", "text as model", "data as model", "a folder to load", "the data as output",
    "the model as output", "a folder as output", "no row", "row 0", "row 41", "a row of nothing",
    "a label", "report of nothing", "no command", "no arguments", "a long path", "a zero byte",
]  # fmt: skip


def with_path(name, folder):
    before = {path: path.read_bytes() for path in (ready(folder) / "good.csv", folder / "good.mk")}
    names = r"(?i)exist|folder|file|model|twice|row|label|command|argument|must be|zero|null|long"
    try:
        invoke(names, *paths_of(folder)[name])
        require(False, "it was not refused")
    finally:
        for path, content in before.items():
            require(path.read_bytes() == content, f"{path.name} was changed")


def cases():
    """Return all cases of this surface."""
    acts = {f"fit: {name}": partial(fit_file, content) for name, content in FILES.items()}
    for label, value in CELLS.items():
        acts[f"fit: a = {label}"] = partial(fit_file, with_cell(value))
        acts[f"fit: k = {label}"] = partial(fit_file, with_cell(value, "k"))
        acts[f"fit: y = {label}"] = partial(fit_file, with_cell(value, "y"))
        acts[f"predict: a = {label}"] = partial(predict_file, with_cell(value))
        acts[f"predict: k = {label}"] = partial(predict_file, with_cell(value, "k"))
        acts[f"explain: a = {label}"] = partial(explain_file, with_cell(value, "a", 1))
        acts[f"column of {label}"] = partial(fit_file, with_column("c", value))
    for label in list(CELLS)[::6]:
        acts[f"report: k = {label}"] = partial(report_file, with_cell(CELLS[label], "k"))
        acts[f"report: y = {label}"] = partial(report_file, with_cell(CELLS[label], "y"))
    for name, content in FILES.items():
        acts[f"predict: {name}"] = partial(predict_file, content)
    for name, values in OPTIONS.items():
        for value in values:
            acts[f"--{name}={value!r}"] = partial(with_option, name, value)
    for name in PATHS:
        acts[f"path: {name}"] = partial(with_path, name)

    def run(folder, act):
        return judged(partial(act, folder), ".", 30)

    return [Case("commands", name, partial(run, act=act)) for name, act in acts.items()]
