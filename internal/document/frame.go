package document

import (
	"strconv"

	"github.com/sfcore/sfcore/report"
)

// appendFrame appends what [Encode] returns for a frame, in a tenth of the time: a report
// may have a million.
func appendFrame(b []byte, f *report.Frame) []byte {
	if f.Evidence != 0 || f.Rule != "" || f.Doubt != "" || f.Skipped != "" {
		return append(b, Encode(f)...) // with the workings, which take longer than this
	}
	b = strconv.AppendInt(append(b, `{"index":`...), int64(f.Index), 10)
	b = appendAddr(append(b, `,"pc":`...), f.PC)
	b = appendKnown(b, `,"sp":`, f.SP)
	b = appendKnown(b, `,"cfa":`, f.CFA)
	b = appendString(append(b, `,"method":`...), f.Method.String())
	b = appendString(append(b, `,"trust":`...), f.Trust.String())
	b = appendTrue(b, `,"exact":true`, f.Exact)
	b = appendText(b, `,"module":`, f.Module)
	b = appendKnown(b, `,"moduleOffset":`, f.ModuleOffset)
	b = appendText(b, `,"function":`, f.Function)
	b = appendText(b, `,"linkageName":`, f.LinkageName)
	b = appendKnown(b, `,"functionOffset":`, f.FunctionOffset)
	b = appendText(b, `,"file":`, f.File)
	b = appendNumber(b, `,"line":`, f.Line)
	b = appendNumber(b, `,"column":`, f.Column)
	b = appendTrue(b, `,"inlined":true`, f.Inlined)
	b = appendTrue(b, `,"signalFrame":true`, f.SignalFrame)
	if len(f.Source) > 0 {
		b = append(append(b, `,"source":`...), Encode(f.Source)...)
	}
	if len(f.Variables) > 0 {
		b = append(append(b, `,"variables":`...), Encode(f.Variables)...)
	}
	return append(b, '}')
}

func appendAddr(b []byte, a report.Addr) []byte {
	b, _ = a.AppendText(append(b, '"'))
	return append(b, '"')
}

// appendKnown, appendText, appendNumber and appendTrue append a key and a value, unless
// the value is left out.
func appendKnown(b []byte, key string, a report.OptAddr) []byte {
	if !a.Known {
		return b
	}
	return appendAddr(append(b, key...), a.Addr)
}

func appendText(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, key...), s)
}

func appendNumber(b []byte, key string, n int) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(append(b, key...), int64(n), 10)
}

func appendTrue(b []byte, member string, is bool) []byte {
	if !is {
		return b
	}
	return append(b, member...)
}

// asIs are the characters that stand for themselves in a string, as [Encode] writes it.
var asIs = func() (as [256]bool) {
	for c := ' '; c <= '~'; c++ {
		as[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return as
}()

func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if !asIs[s[i]] {
			return append(b, Encode(s)...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
