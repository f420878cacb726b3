"""The page of the study, from the results alone."""

import numpy as np
import pandas as pd

from _measure import write_page
from _truth_counts import overlap
from _truth_methods import (
    CHOSEN,
    EBM,
    KNOCKOFFS,
    KNOCKOFFS_TREES,
    LASSO,
    LASSO_SE,
    LEVEL,
    SPLIT,
    SPLIT_FDR,
    STABLE,
)

REPORTERS = (SPLIT, SPLIT_FDR, STABLE, LASSO, LASSO_SE)
OWN = (SPLIT, SPLIT_FDR, STABLE)
RIVALS = (LASSO, LASSO_SE, EBM)


def write(lines, cells):
    """Write the page."""
    import truth

    frame = frame_of([line for line in lines if line["part"] == "cells"])
    names = [cell.name for cell in cells]
    facts, tables = [], []
    parts = (terms_part, variables_part, pairs_part, scores_part) if len(frame) else ()
    for part in parts:
        said, made = part(frame, names)
        facts += said
        tables += made
    if parts:
        tables.append(("Seconds of one processor", seconds_table(frame, names)))
        tables.append(("Number of tables", counts_table(frame, names)))
    for part in (noise_part, halves_part):
        said, made = part(lines)
        facts += said
        tables += made
    text = truth.__doc__.split("\n\n", 1)[1].split("\n\n    MANY")[0]
    absent = [
        m for m in (STABLE, LASSO, CHOSEN, KNOCKOFFS, EBM) if not len(frame[frame["method"] == m])
    ]
    text += "\n\nOn how many tables each method was run stands in a table below" + (
        f"; not run so far: {'; '.join(absent)}." if absent else "."
    )
    text += "\n\n## What is required, and what holds\n\n"
    text += "\n".join(f"* {fact}" for fact in facts)
    where = " and ".join(dict.fromkeys(line["machine"] for line in lines if "machine" in line))
    write_page("truth", "Are the terms true", text, tables, "truth.py", where)


def frame_of(lines):
    """Return a row for each method on each table, with columns such as ("pairs", "FDP")."""
    rows = []
    for line in lines:
        for method, result in line["results"].items():
            row = {"cell": line["cell"], "seed": line["seed"], "method": method}
            for key, value in result.items():
                if isinstance(value, dict):
                    row |= {f"{key} {inner}": v for inner, v in value.items()}
                elif not isinstance(value, list):
                    row[key] = value
            rows.append(row)
    return pd.DataFrame(rows)


def mean_error(values):
    """Return mean and standard error; of one value the error is 0."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return values.mean(), error


def comparison(frame, names, methods, prefix=""):
    """Return a table of FDP, power and F1 by cell, and what is required of SplitTest there.

    Its mean false discovery proportion is to be at most the level plus two standard errors; its
    power at least that of each method of others of which that holds, on the seeds that both have.
    """
    lines, kept, weaker, judged = [], [], [], 0
    for number, name in enumerate(names):
        part = frame[(frame["cell"] == number) & frame[f"{prefix}FDP"].notna()]
        line, holds = {"cell": name}, {}
        for method in methods:
            own = part[part["method"] == method]
            if not len(own):
                continue
            false, error = mean_error(own[f"{prefix}FDP"])
            power, f1 = own[f"{prefix}power"].mean(), own[f"{prefix}F1"].mean()
            holds[method] = false <= LEVEL + 2 * error
            line[method] = f"{false:.2f} ± {error:.2f}, {power:.2f}, {f1:.2f}"
        if SPLIT not in holds:
            continue
        judged += 1
        lines.append(line)
        if holds[SPLIT]:
            kept.append(name)
        table = part.pivot_table(index="seed", columns="method", values=f"{prefix}power")
        for method in [m for m in methods if m not in OWN]:
            both = table[[SPLIT, method]].dropna() if holds.get(method) else None
            if both is not None and len(both) and both[SPLIT].mean() < both[method].mean() - 1e-9:
                weaker.append(
                    f"{name}: {both[SPLIT].mean():.2f} for {both[method].mean():.2f} of {method}"
                )
    return pd.DataFrame(lines).fillna(""), kept, weaker, judged


def terms_part(frame, names):
    table, kept, weaker, judged = comparison(frame, names, REPORTERS)
    missing = sorted(set(table["cell"]) - set(kept))
    facts = [
        f"`SplitTest`, false discovery proportion of terms at most {LEVEL:g} plus two standard "
        f"errors: in {len(kept)} of {judged} cells{named(missing)}.",
        "Power of `SplitTest` at least that of every method of others that keeps the level: in "
        f"{judged - len(cells_of(weaker))} of {judged} cells{named(weaker)}.",
    ]
    words = (
        "False discovery proportion with its standard error, power, F1. A group of terms that "
        "cannot be told apart counts as true if it holds a true term."
    )
    grouped = frame[frame["method"].isin(REPORTERS[:3])]
    sizes = grouped.pivot_table(index="cell", columns="method", values="size")
    sizes = sizes.rename(index=dict(enumerate(names))).reset_index()
    return facts, [
        ("Terms", words, table),
        ("Terms in a reported group", "Means; nothing where nothing was reported.", sizes),
    ]


def variables_part(frame, names):
    methods = (SPLIT, SPLIT_FDR, KNOCKOFFS, KNOCKOFFS_TREES)
    table, kept, weaker, judged = comparison(frame, names, methods, "variables ")
    missing = sorted(set(table["cell"]) - set(kept))
    if not set(methods[2:]) & set(frame["method"]):
        return [], []
    fact = (
        f"On variables: `SplitTest` keeps the level in {len(kept)} of {judged} "
        f"cells{named(missing)}; its power is at least that of knockoffs that keep it in all "
        f"comparisons but {len(weaker)}{named(weaker)}."
    )
    words = (
        "As before, of variables instead of terms: those that all terms of a reported group share."
    )
    return [fact], [("Variables, against knockoffs", words, table)]


def pairs_part(frame, names):
    if "pairs FDP" not in frame:
        return [], []
    table, _, weaker, judged = comparison(frame, names, (SPLIT, SPLIT_FDR, EBM), "pairs ")
    fact = (
        "On pairs of variables that act together: power of `SplitTest` at least that of EBM where "
        f"that keeps the level, in {judged - len(weaker)} of {judged} cells{named(weaker)}."
    )
    words = (
        "Smooth functions, pairs of variables. EBM ranks pairs and does not say how many are "
        "real: it is told how many are true, and that many of the first count."
    )
    return [fact], [("Pairs of variables, against EBM", words, table)]


def scores_part(frame, names):
    """Return R2 by cell, and whether the chosen mode is within a standard error of the best."""
    lines, fine, worse = [], 0, []
    scored = frame[frame["R2"].notna()]
    for number, name in enumerate(names):
        table = scored[scored["cell"] == number].pivot_table(
            index="seed", columns="method", values="R2"
        )
        if CHOSEN not in table:
            continue
        rivals = [method for method in RIVALS if method in table]
        if not rivals:
            continue
        best = max(rivals, key=lambda m: (table[m] - table[CHOSEN]).mean())
        away, error = mean_error((table[CHOSEN] - table[best]).dropna())
        line = {"cell": name, **{m: f"{table[m].mean():.3f}" for m in table}}
        lines.append(
            {**line, "best other": best, "chosen - best other": f"{away:+.3f} ± {error:.3f}"}
        )
        fine += away >= -error
        if away < -error:
            worse.append(f"{name}: {away:+.3f} ± {error:.3f}")
    if not lines:
        return [], []
    made = pd.DataFrame(lines).fillna("")
    first = ["cell", CHOSEN, *RIVALS, "best other", "chosen - best other"]
    columns = [c for c in first if c in made]
    fact = (
        "R2 of our chosen mode within one standard error of the best other, or above: in "
        f"{fine} of {len(lines)} cells{named(worse)}."
    )
    modes = ["cell", *(c for c in made if c not in first)]
    return [fact], [
        ("R2", "Against the signal without noise, on other rows.", made[columns]),
        ("R2 of each of our modes", made[modes]),
    ]


def seconds_table(frame, names):
    table = frame.pivot_table(index="cell", columns="method", values="cpu", aggfunc="mean")
    wanted = [*REPORTERS, CHOSEN, KNOCKOFFS, KNOCKOFFS_TREES, EBM]
    table = table[[m for m in wanted if m in table and m not in (SPLIT_FDR, LASSO_SE)]]
    return table.rename(index=dict(enumerate(names))).reset_index()


def counts_table(frame, names):
    """Return on how many tables each method was run."""
    table = frame.pivot_table(index="cell", columns="method", values="seed", aggfunc="count")
    wanted = [m for m in (*REPORTERS, CHOSEN, KNOCKOFFS, EBM) if m in table]
    table = table[[m for m in wanted if m not in (SPLIT_FDR, LASSO_SE)]].fillna(0).astype(int)
    return table.rename(index=dict(enumerate(names))).reset_index()


def noise_part(lines):
    from truth import NOISE

    rows = []
    for kernels, (count, columns, degree) in NOISE.items():
        own = [x["results"][SPLIT] for x in lines if x["part"] == "noise" and x["cell"] == kernels]
        if own:
            some = sum(result["reported"] > 0 for result in own)
            rows.append(
                {
                    "kernels": f"`{kernels}`, degree {degree}",
                    "rows": count,
                    "columns": columns,
                    "tables": len(own),
                    "with a sure term": some,
                    "cpu": float(np.mean([result["cpu"] for result in own])),
                }
            )
    if not rows:
        return [], []
    said = "; ".join(f"{r['with a sure term']} of {r['tables']} with {r['kernels']}" for r in rows)
    words = "Columns correlate by .5 with their neighbours; the target is normal noise."
    fact = f"Tables of pure noise with any sure term, at most 10 %: {said}."
    return [fact], [("Pure noise", words, pd.DataFrame(rows))]


def halves_part(lines):
    found = {(x["cell"], x["seed"]): x["results"][SPLIT] for x in lines if x["part"] == "halves"}
    rows = []
    for name in dict.fromkeys(key[0] for key in found):
        both = [found.get((name, half)) for half in (0, 1)]
        if None in both:
            continue
        one, two = ([{tuple(t) for t in group} for group in half["groups"]] for half in both)
        rows.append(
            {
                "table": name,
                "rows of a half": both[0]["rows"],
                "sure, first half": len(one),
                "sure, second half": len(two),
                "shared of the smaller": overlap(one, two),
                "cpu of a half": float(np.mean([half["cpu"] for half in both])),
            }
        )
    if not rows:
        return [], []
    table = pd.DataFrame(rows)
    shares = table["shared of the smaller"].dropna()
    fact = (
        "Two halves of a large table share at least 80 % of the smaller list: on "
        f"{int((shares >= 0.8).sum())} of the {len(shares)} tables where both have three sure "
        "terms or more."
    )
    words = (
        'Functions of columns and of pairs (`kernels="auto"`, degree 2). A group is shared if a '
        "group of the other half has a term in common with it."
    )
    return [fact], [("Halves of large tables", words, table)]


def cells_of(texts):
    return {text.split(": ")[0] for text in texts}


def named(texts):
    return f" (not: {'; '.join(texts)})" if texts else ""
