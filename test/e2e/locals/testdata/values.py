# Prints the variables of every frame of gdb's current thread as JSON, one frame a
# line, in terms that do not depend on how gdb writes values: a list of paths, such as
# "list.next" or "table[3]", each with a kind and a value.
import json

import gdb

LIMIT = 64
INTS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL)


def is_char(t):
    t = t.strip_typedefs()
    return t.sizeof == 1 and (t.code == gdb.TYPE_CODE_CHAR or t.code == gdb.TYPE_CODE_INT and "char" in str(t.unqualified()))


def leaf(out, path, kind, value, number=None):
    out.append({"path": path, "kind": kind, "value": value, "number": number})


def walk(out, path, val, depth):
    try:
        t = val.type.strip_typedefs()
        code = t.code
        if str(t) == "&str":
            text = gdb.selected_inferior().read_memory(int(val["data_ptr"]), int(val["length"])).tobytes()
            leaf(out, path, "string", text.hex())
            return
        if val.is_optimized_out:
            leaf(out, path, "missing", "")
        elif code in INTS:
            leaf(out, path, "int", str(int(val)))
        elif code == gdb.TYPE_CODE_FLT:
            leaf(out, path, "float", repr(float(val)))
        elif code in (gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_FLAGS):
            leaf(out, path, "enum", str(val), str(int(val)))
        elif code == gdb.TYPE_CODE_PTR and "synthetic" in str(val):
            leaf(out, path, "missing", str(val))
        elif code == gdb.TYPE_CODE_PTR:
            leaf(out, path, "pointer", "%#x" % (int(val) & (1 << 64) - 1))
        elif code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            leaf(out, path, "pointer", "%#x" % int(val.referenced_value().address))
            walk(out, path, val.referenced_value(), depth + 1)
        elif code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            if depth > 5:
                return
            for f in t.fields():
                if not hasattr(f, "bitpos") and not f.is_base_class:
                    continue  # static
                if not f.name and f.artificial:
                    continue  # the discriminant of an enum of Rust
                name = f.name or ""
                sub = path + ("<" + name + ">" if f.is_base_class else "." + name if name else "")
                try:
                    walk(out, sub, val[f], depth + 1)
                except gdb.error as e:
                    leaf(out, sub, "missing", str(e))
        elif code == gdb.TYPE_CODE_ARRAY:
            lo, hi = t.range()
            if is_char(t.target()):
                text = bytes(int(val[i]) & 255 for i in range(lo, min(hi, lo + 199) + 1))
                leaf(out, path, "string", text.split(b"\0")[0].hex())
                return
            if depth > 5:
                return
            for i in range(lo, min(hi, lo + LIMIT - 1) + 1):
                walk(out, "%s[%d]" % (path, i - lo), val[i], depth + 1)
    except (gdb.error, OverflowError, ValueError, TypeError) as e:
        leaf(out, path, "missing", str(e))


def variables(frame):
    out, seen = [], {}
    try:
        block = frame.block()
    except RuntimeError:
        return out
    while block is not None:
        for sym in block:
            if not (sym.is_variable or sym.is_argument) or sym.name in ("__func__", "__FUNCTION__", "__PRETTY_FUNCTION__"):
                continue
            n = seen[sym.name] = seen.get(sym.name, 0) + 1
            path = sym.name + ("#%d" % n if n > 1 else "")
            try:
                walk(out, path, sym.value(frame), 0)
            except gdb.error as e:
                leaf(out, path, "missing", str(e))
        if block.function:
            break
        block = block.superblock
    return out


frame = gdb.newest_frame()
while frame is not None:
    if frame.type() != gdb.TAILCALL_FRAME:
        print("FRAME " + json.dumps({"pc": "%#x" % frame.pc(), "function": frame.name() or "", "variables": variables(frame)}))
    frame = frame.older()
