package plugin

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/unwind"
)

// enumeration joins the values of one of the protocol's enumerations with the names that
// reports have for them: FRAME_POINTER is "frame-pointer".
type enumeration[E interface {
	~int32
	protoreflect.Enum
}] struct {
	values map[string]E
	texts  map[E]string
}

// enumerate makes an enumeration from the names of its values, which begin with a prefix.
func enumerate[E interface {
	~int32
	protoreflect.Enum
}](prefix string) *enumeration[E] {
	e := &enumeration[E]{map[string]E{}, map[E]string{}}
	var zero E
	values := zero.Descriptor().Values()
	for i := range values.Len() {
		v := values.Get(i)
		if v.Number() == 0 {
			continue
		}
		name := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(string(v.Name()), prefix), "_", "-"))
		e.values[name], e.texts[E(v.Number())] = E(v.Number()), name
	}
	return e
}

// value returns the value with a name; UNSPECIFIED for other names.
func (e *enumeration[E]) value(name string) E { return e.values[strings.ReplaceAll(name, "_", "-")] }

// text returns the name of a value; "" for UNSPECIFIED.
func (e *enumeration[E]) text(v E) string { return e.texts[v] }

var (
	architectures = enumerate[protov2.Architecture]("ARCHITECTURE_")
	byteOrders    = enumerate[protov2.ByteOrder]("BYTE_ORDER_")
	sourceKinds   = enumerate[protov2.SourceKind]("SOURCE_KIND_")
	phaseKinds    = enumerate[protov2.PhaseKind]("PHASE_KIND_")
	faults        = enumerate[protov2.Fault]("FAULT_")
	threadStates  = enumerate[protov2.ThreadState]("THREAD_STATE_")
	stopReasons   = enumerate[protov2.StopReason]("STOP_REASON_")
	matches       = enumerate[protov2.Match]("MATCH_")
	symbolTables  = enumerate[protov2.SymbolTable]("SYMBOL_TABLE_")
	sframeFlags   = enumerate[protov2.SFrameFlag]("S_FRAME_FLAG_")
	waitKinds     = enumerate[protov2.WaitKind]("WAIT_KIND_")
	targetKinds   = enumerate[protov2.TargetKind]("TARGET_KIND_")
	functionKinds = enumerate[protov2.FunctionKind]("FUNCTION_KIND_")
	statuses      = enumerate[protov2.GoroutineStatus]("GOROUTINE_STATUS_")
)

// methodValue and trustValue are for the enumerations whose values have the order of
// those of package unwind, behind UNSPECIFIED. There is one of each for every frame.
func methodValue(m unwind.Method) protov2.Method { return protov2.Method(m) + 1 }
func trustValue(t unwind.Trust) protov2.Trust    { return protov2.Trust(t) + 1 }

// evidenceValues returns the values for the bits that are set, which have the same order.
func evidenceValues(e unwind.Evidence) []protov2.Evidence {
	var list []protov2.Evidence
	for i := protov2.Evidence(1); e != 0; i, e = i+1, e>>1 {
		if e&1 != 0 {
			list = append(list, i)
		}
	}
	return list
}
