"""Prints what test/toolchains/cost has measured of a program."""

import json
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


f = load("gate")["files"][0]
code, table, cfi = f["codeBytes"], f["sframeBytes"], f["ehFrameBytes"]
synth = section(base + ".synth", ".sframe")
print(f"size {name}: code {code}, .eh_frame {cfi} ({100 * cfi / code:.1f}% of the code), .sframe {table} "
      f"({100 * table / cfi:.0f}% of .eh_frame), by synth {synth} ({100 * synth / cfi:.0f}%); "
      f"code in .eh_frame {100 * f['codeInCFI'] / code:.1f}%, in .sframe {100 * f['codeInSFrame'] / code:.1f}%")
for suffix, tables in (("alone", ".sframe of the program"), ("all", ".sframe by synth for the rest")):
    r = load(suffix)
    total = r["methods"][-1]["frames"]
    found = ", ".join(f"{m['method']} {100 * m['frames'] / max(total, 1):.1f}% {m['complete']} complete {m['different']} different {m['nanoseconds'] // max(m['framesWalked'], 1)} ns" for m in r["methods"])
    print(f"walk {name}, {tables}: {r['samples']} samples, {total} frames: {found}")
    for p in r["problems"][:2]:
        print(f"  problem: {p}")
