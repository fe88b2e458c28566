"""Prints what test/toolchains/cost has measured of a program, as rows of its two tables."""

import json
import pathlib
import sys

name, base = sys.argv[1:]


def load(suffix):
    with open(f"{base}.{suffix}") as file:
        return json.load(file)


def section(path, wanted):
    """Returns the size of a section of an ELF file of 64 bits, little-endian."""
    data = open(path, "rb").read()
    at, size, count, names = (int.from_bytes(data[a:a + n], "little") for a, n in ((40, 8), (58, 2), (60, 2), (62, 2)))
    field = lambda i, off, n: int.from_bytes(data[at + i * size + off:at + i * size + off + n], "little")
    for i in range(count):
        start = field(names, 24, 8) + field(i, 0, 4)
        if data[start:data.index(b"\0", start)].decode() == wanted:
            return field(i, 32, 8)
    return 0


def row(table, *cells):
    print(f"{table}: | {name} | {' | '.join(cells)} |")


def percent(part, whole):
    return f"{100 * part / max(whole, 1):.1f} %"


f = load("gate")["files"][0]
code, cfi = f["codeBytes"], f["ehFrameBytes"]
tables = (f"{n:,} ({100 * n / cfi:.0f} %)" for n in (f["sframeBytes"], section(base + ".synth", ".sframe")))
instructions = pathlib.Path(base + ".instructions").read_text().strip()
row("size", f"{code:,}", f"{cfi:,}", *tables, percent(f["codeInCFI"], code), percent(f["codeInSFrame"], code), f"{int(instructions or 0):,}")

alone = {m["method"]: m for m in load("alone")["methods"]}
runs = [load(f"all{i}") for i in (1, 2, 3)]
by = [{m["method"]: m for m in r["methods"]} for r in runs]
total = by[0]["all"]["frames"]
wrong = (f"{by[0][method]['different']}" for method in ("sframe", "cfi", "fp"))
times = ("-".join(str(t) for t in sorted({min(t), max(t)}))
         for t in ([b[method]["nanoseconds"] // max(b[method]["framesWalked"], 1) for b in by] for method in ("sframe", "cfi", "fp", "all")))
row("walk", f"{runs[0]['samples']:,}", f"{total:,}", percent(alone["sframe"]["frames"], total),
    *(percent(by[0][method]["frames"], total) for method in ("sframe", "cfi", "fp")), " / ".join(wrong), *times)
for p in runs[0]["problems"][:2]:
    print(f"problem: {name}: {p}")
