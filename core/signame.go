package core

import "fmt"

// Signals that are treated in some way of their own; all the architectures
// number them alike [linux include/uapi/asm-generic/signal.h].
const (
	sigILL  = 4
	sigTRAP = 5
	sigBUS  = 7
	sigFPE  = 8
	sigSEGV = 11
)

var signalNames = [...]string{
	1: "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGUSR1",
	"SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP",
	"SIGTTIN", "SIGTTOU", "SIGURG", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO", "SIGPWR",
	"SIGSYS",
}

// SignalName returns the name of a signal: SIGSEGV; SIG35 for a real-time one.
func SignalName(n int) string {
	if n > 0 && n < len(signalNames) {
		return signalNames[n]
	}
	return fmt.Sprintf("SIG%d", n)
}

// Values of si_code that any signal may have [linux
// include/uapi/asm-generic/siginfo.h].
const (
	siUser   = 0
	siKernel = 0x80
	siQueue  = -1
	siMesgq  = -3
	siTkill  = -6
)

// segvMTEAsync is the code of an asynchronous tag fault, which has no address.
const segvMTEAsync = "SEGV_MTEAERR"

var commonCodes = map[int]string{
	siUser: "SI_USER", siKernel: "SI_KERNEL", siQueue: "SI_QUEUE", -2: "SI_TIMER", siMesgq: "SI_MESGQ",
	-4: "SI_ASYNCIO", -5: "SI_SIGIO", siTkill: "SI_TKILL", -7: "SI_DETHREAD", -60: "SI_ASYNCNL",
}

// signalCodes are the names of si_code 1, 2, ... by signal.
var signalCodes = map[string][]string{
	"SIGILL": {
		"ILL_ILLOPC", "ILL_ILLOPN", "ILL_ILLADR", "ILL_ILLTRP", "ILL_PRVOPC", "ILL_PRVREG", "ILL_COPROC",
		"ILL_BADSTK", "ILL_BADIADDR",
	},
	"SIGFPE": {
		"FPE_INTDIV", "FPE_INTOVF", "FPE_FLTDIV", "FPE_FLTOVF", "FPE_FLTUND", "FPE_FLTRES", "FPE_FLTINV",
		"FPE_FLTSUB", "", "", "", "", "", "FPE_FLTUNK", "FPE_CONDTRAP",
	},
	"SIGSEGV": {
		"SEGV_MAPERR", "SEGV_ACCERR", "SEGV_BNDERR", "SEGV_PKUERR", "SEGV_ACCADI", "SEGV_ADIDERR",
		"SEGV_ADIPERR", segvMTEAsync, "SEGV_MTESERR", "SEGV_CPERR",
	},
	"SIGBUS":  {"BUS_ADRALN", "BUS_ADRERR", "BUS_OBJERR", "BUS_MCEERR_AR", "BUS_MCEERR_AO"},
	"SIGTRAP": {"TRAP_BRKPT", "TRAP_TRACE", "TRAP_BRANCH", "TRAP_HWBKPT", "TRAP_UNK", "TRAP_PERF"},
	"SIGCHLD": {"CLD_EXITED", "CLD_KILLED", "CLD_DUMPED", "CLD_TRAPPED", "CLD_STOPPED", "CLD_CONTINUED"},
	"SIGIO":   {"POLL_IN", "POLL_OUT", "POLL_MSG", "POLL_ERR", "POLL_PRI", "POLL_HUP"},
	"SIGSYS":  {"SYS_SECCOMP", "SYS_USER_DISPATCH"},
}

func signalCodeName(number, code int) string {
	if names := signalCodes[SignalName(number)]; code > 0 && code <= len(names) {
		return names[code-1]
	}
	return commonCodes[code]
}
