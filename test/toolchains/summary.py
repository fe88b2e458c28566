"""Prints one line for a file that "sfcore sframe gate --format json" has judged."""

import json
import sys

for f in json.load(sys.stdin)["files"]:
    found = {}
    for x in f["findings"]:
        if x["severity"] != "note":
            found[x["id"]] = found.get(x["id"], 0) + x["count"]
    names = " ".join(f"{name}:{n}" for name, n in sorted(found.items())) or "good"
    print(f"{sys.argv[1]}: {'+'.join(f['versions']) or 'no .sframe'}, {f['functions']} functions, {100 * f['coverage']:.1f}%: {names}")
