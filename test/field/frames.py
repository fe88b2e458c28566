# Prints every frame of every thread, for test/field. gdb's bt does not say which
# frames are inlined or tail calls, which have no stack frame of their own.
import gdb

kinds = {
    gdb.INLINE_FRAME: "inlined",
    gdb.TAILCALL_FRAME: "tailcall",
    gdb.SIGTRAMP_FRAME: "signal",
}
limit = 5000

gdb.execute("set backtrace past-main on")
for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num):
    thread.switch()
    print("thread %d" % thread.ptid[1])
    try:
        frame, count = gdb.newest_frame(), 0
        while frame is not None and count < limit:
            print("%#x %s %s" % (frame.pc(), kinds.get(frame.type(), "normal"), frame.name() or "??"))
            frame, last, count = frame.older(), frame, count + 1
        print("end", gdb.frame_stop_reason_string(last.unwind_stop_reason()) if frame is None else "limit")
    except gdb.error as err:
        print("end", str(err).replace("\n", " "))
