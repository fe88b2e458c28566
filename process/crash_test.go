package process

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/report"
)

// TestMeaning has what signals tell of a crash.
func TestMeaning(t *testing.T) {
	const pc, sp = 0x401000, 0x7fff0000
	mapped := []core.Mapping{
		{Lo: 0x401000, Hi: 0x402000, Path: "/bin/x", Exec: true}, {Lo: 0x500000, Hi: 0x501000}, {Lo: 0x600000, Hi: 0x601000, Path: "/lib/y"},
	}
	signal := func(name, code string) core.Signal { return core.Signal{Name: name, CodeName: code, Thread: 1} }
	sent := func(name string, pid int) core.Signal {
		return core.Signal{Name: name, Thread: 1, HasSender: true, SenderPID: pid, SenderUID: 1000}
	}
	at := func(name, code string, addr uint64) core.Signal {
		return core.Signal{Name: name, CodeName: code, Thread: 1, HasAddress: true, Address: addr}
	}
	for name, tt := range map[string]struct {
		arch   *arch.Arch
		signal core.Signal
		pc     uint64
		fault  report.Fault
		want   string
	}{
		"abort":               {arch.AMD64, sent("SIGABRT", 7), pc, report.FaultAbort, "the program sent itself the signal"},
		"raise":               {arch.AMD64, sent("SIGTERM", 7), pc, report.FaultSelf, "the program sent itself the signal"},
		"abort, no sender":    {arch.AMD64, core.Signal{Name: "SIGABRT", Thread: 1, SenderPID: 7}, pc, "", ""},
		"raise, no sender":    {arch.AMD64, core.Signal{Name: "SIGTERM", Thread: 1, SenderPID: 7}, pc, "", ""},
		"kill":                {arch.AMD64, sent("SIGABRT", 8), pc, report.FaultSent, "process 8 of user 1000 sent the signal"},
		"non-canonical":       {arch.AMD64, signal("SIGSEGV", "SI_KERNEL"), pc, report.FaultNonCanonical, "the processor refused the instruction, most often because it used a non-canonical address, which no pointer can have"},
		"no address":          {arch.S390X, signal("SIGSEGV", "SI_KERNEL"), pc, "", ""},
		"another code":        {arch.AMD64, signal("SIGSEGV", "SEGV_MAPERR"), pc, "", ""},
		"division":            {arch.AMD64, signal("SIGFPE", "FPE_INTDIV"), pc, report.FaultDivision, "an integer was divided by zero, or the quotient did not fit"},
		"another of SIGFPE":   {arch.AMD64, signal("SIGFPE", "FPE_FLTDIV"), pc, "", ""},
		"breakpoint":          {arch.AMD64, signal("SIGTRAP", "SI_KERNEL"), pc, report.FaultBreakpoint, "the program executed a breakpoint instruction, which programs also use to abort"},
		"a trap":              {arch.AMD64, signal("SIGTRAP", "TRAP_TRACE"), pc, "", ""},
		"illegal":             {arch.AArch64, signal("SIGILL", "ILL_ILLOPC"), pc, report.FaultIllegal, "the processor refused this instruction"},
		"no instruction":      {arch.AArch64, signal("SIGILL", "ILL_ILLOPC"), pc + 2, report.FaultBadCall, "a call, jump or return to 0x401002, where no instruction can begin"},
		"any byte":            {arch.AMD64, signal("SIGILL", "ILL_ILLOPN"), pc + 1, report.FaultIllegal, "the processor refused this instruction"},
		"nothing":             {arch.AMD64, signal("SIGTERM", ""), pc, "", ""},
		"address of another":  {arch.AMD64, at("SIGTRAP", "TRAP_HWBKPT", 0), pc, "", ""},
		"past a file":         {arch.AMD64, at("SIGBUS", "BUS_ADRERR", 0x600010), pc, report.FaultPastFile, "an access to 0x600010, for which the mapped file has no bytes, or the kernel could not get them (/lib/y)"},
		"misaligned":          {arch.AMD64, at("SIGBUS", "BUS_ADRALN", 0x600011), pc, report.FaultMisaligned, "a misaligned access to 0x600011"},
		"a null call":         {arch.AMD64, at("SIGSEGV", "SEGV_MAPERR", 0), 0, report.FaultNullCall, "a call, jump or return to 0x0, where nothing is mapped"},
		"the last null call":  {arch.AMD64, at("SIGSEGV", "SEGV_MAPERR", 0xffff), 0xffff, report.FaultNullCall, "a call, jump or return to 0xffff, where nothing is mapped"},
		"from low code":       {arch.AMD64, at("SIGSEGV", "SEGV_ACCERR", 0x500010), 0x10, report.FaultBadAccess, "an access to 0x500010, which is mapped, but does not allow this access"},
		"null":                {arch.AMD64, at("SIGSEGV", "SEGV_MAPERR", 0), pc, report.FaultNullAccess, "an access to 0x0, as through a null pointer"},
		"null and an offset":  {arch.AMD64, at("SIGSEGV", "SEGV_MAPERR", 0xffff), pc, report.FaultNullAccess, "an access to 0xffff, as through a null pointer"},
		"just beyond":         {arch.AMD64, at("SIGSEGV", "SEGV_MAPERR", 0x10000), pc, report.FaultBadAccess, "an access to 0x10000, which is not mapped"},
		"a bad call":          {arch.AMD64, at("SIGSEGV", "SEGV_MAPERR", 0x10000), 0x10000, report.FaultBadCall, "a call, jump or return to 0x10000, where nothing is mapped"},
		"a call of data":      {arch.AMD64, at("SIGSEGV", "SEGV_ACCERR", 0x600000), 0x600000, report.FaultBadCall, "a call, jump or return to 0x600000, which is data and not code (/lib/y)"},
		"mapped":              {arch.AMD64, at("SIGSEGV", "SEGV_ACCERR", 0x500010), pc, report.FaultBadAccess, "an access to 0x500010, which is mapped, but does not allow this access"},
		"of the stack":        {arch.AMD64, at("SIGSEGV", "SEGV_MAPERR", sp-0xfffff), pc, report.FaultStackOverflow, "an access to 0x7fef0001, just below the stack, as when it is full"},
		"far below the stack": {arch.AMD64, at("SIGSEGV", "SEGV_MAPERR", sp-0x100000), pc, report.FaultBadAccess, "an access to 0x7fef0000, which is not mapped"},
		"above SP":            {arch.AMD64, at("SIGSEGV", "SEGV_MAPERR", sp+0xffff), pc, report.FaultStackOverflow, "an access to 0x7fffffff, just below the stack, as when it is full"},
		"far above SP":        {arch.AMD64, at("SIGSEGV", "SEGV_MAPERR", sp+0x10000), pc, report.FaultBadAccess, "an access to 0x80000000, which is not mapped"},
		"what was dumped":     {arch.AMD64, at("SIGSEGV", "SEGV_MAPERR", sp-8), pc, report.FaultBadAccess, "an access to 0x7ffefff8, which is not mapped"},
	} {
		th := core.Thread{ID: 1}
		th.Regs.Set(tt.arch.PC, tt.pc)
		th.Regs.Set(tt.arch.SP, sp)
		other := core.Thread{ID: 3}
		other.Regs.Set(tt.arch.SP, sp/2)
		img := &core.Image{Arch: tt.arch, PID: 7, Threads: []core.Thread{{ID: 2}, th, other}, Mappings: mapped, Mem: memreader.NewSpace([]memreader.Segment{{Addr: sp - 8, Size: 1, Data: []byte{1}}}), Signal: &tt.signal}
		p := New(img, Options{Sysroot: t.TempDir()})
		r := p.Signal()
		if r.Fault != tt.fault || r.Meaning != tt.want {
			t.Errorf("%s: got %q, %q, want %q, %q", name, r.Fault, r.Meaning, tt.fault, tt.want)
		}
		if pc := p.crashedAt(&core.Signal{Thread: 4}); pc != 0 {
			t.Errorf("%s: got %#x of a thread that is not there", name, pc)
		}
		p.Close()
	}
}
