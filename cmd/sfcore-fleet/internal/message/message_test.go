package message_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
)

func TestRound(t *testing.T) {
	m := testkit.Message("web1.example.org", 1, "parse", "main")
	got, err := message.Decode(testkit.Encode(t, m))
	if err != nil {
		t.Fatal(err)
	}
	if got.Subject() != "sfcore.v1.crash.web1_example_org" || got.Record.Host != "web1.example.org" || got.Record.ID != got.ID || got.Record.Program != m.Record.Program {
		t.Errorf("got %+v, %+v", got, got.Record)
	}
	if !store.ValidID(got.ID) || !strings.HasPrefix(got.ID, "20261101-120001.000-1-") {
		t.Errorf("got id %s", got.ID)
	}
	doc, err := got.Read()
	if err != nil || doc == nil || doc.Threads[0].Frames[0].Function != "parse" {
		t.Errorf("got %+v, %v", doc, err)
	}
	other := testkit.Message("web2.example.org", 1, "parse", "main")
	if other.ID == m.ID {
		t.Error("crashes of two hosts have one id")
	}
}

func TestDecodeRefuses(t *testing.T) {
	valid := func() *message.Message { return testkit.Message("web1", 1, "parse") }
	for name, change := range map[string]func(*message.Message){
		"host":             func(m *message.Message) { m.Host = "web1.*" },
		"host: ":           func(m *message.Message) { m.Host = "" },
		"id":               func(m *message.Message) { m.ID = message.ID("web2", m.Record.ID) },
		"record.id":        func(m *message.Message) { m.Record.ID = "../../x" },
		"no record":        func(m *message.Message) { m.Record = nil },
		"privacy":          func(m *message.Message) { m.Privacy = "some" },
		"record.schema":    func(m *message.Message) { m.Record.Schema = "sfcore.crash/2" },
		"record.program":   func(m *message.Message) { m.Record.Program = strings.Repeat("x", 1025) },
		"record.kind":      func(m *message.Message) { m.Record.Kind = strings.Repeat("x", 1025) },
		"record.kept":      func(m *message.Message) { m.Record.Kept = store.Keep(strings.Repeat("x", 129)) },
		"record.time":      func(m *message.Message) { m.Record.Time = time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"record.problems":  func(m *message.Message) { m.Record.Problems = make([]string, 21) },
		"record.origin":    func(m *message.Message) { m.Record.Origin = &store.Origin{Cursor: strings.Repeat("x", 1025)} },
		"no hash":          func(m *message.Message) { m.Record.Signature.Coarse = "../x" },
		"signature.alias":  func(m *message.Message) { m.Record.Signature.Alias = "0123 'x'" },
		"is too long":      func(m *message.Message) { m.Record.Signature.Title = strings.Repeat("x", 2049) },
		"count.ids: there": func(m *message.Message) { m.Count = &message.Count{Last: testkit.At} },
		"count.ids: \"x\"": func(m *message.Message) { m.Count = &message.Count{Last: testkit.At, IDs: []string{"x"}} },
		"count.last":       func(m *message.Message) { m.Count = &message.Count{IDs: []string{"1"}} },
		"to be counted": func(m *message.Message) {
			m.Count, m.Record.Kind = &message.Count{IDs: []string{"1"}, Last: testkit.At}, ""
		},
	} {
		m := valid()
		change(m)
		text := testkit.Encode(t, m)
		if _, err := message.Decode(text); !errors.Is(err, message.ErrMalformed) || !strings.Contains(err.Error(), strings.TrimSuffix(name, ": ")) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"has no line": strings.Repeat("x", 200<<10), "no line": "{}", "unexpected": "{\n", "schema": `{"schema":"sfcore.fleet/2"}` + "\n",
		"at most": strings.Repeat("x", message.MaxSize+1), "invalid": "\x00\n",
	} {
		if _, err := message.Decode([]byte(text)); !errors.Is(err, message.ErrMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// What the policy of addresses lets out has nothing of a name, a path, an argument or memory:
// not in the envelope, and not in the report.
func TestAddresses(t *testing.T) {
	r, doc := testkit.Crash(1, "parse_"+testkit.Secret, "main_"+testkit.Secret)
	m := message.New("web1", r, message.Addresses, doc, []byte("raw "+testkit.Secret))
	text := testkit.Encode(t, m)
	head, packed, _ := bytes.Cut(text, []byte("\n"))
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	inside, err := z.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]byte{head, inside} {
		for _, word := range []string{testkit.Secret, "/opt", "/src", "password", "dead", "main", "7,"} {
			if word != "7," && bytes.Contains(part, []byte(word)) {
				t.Errorf("%q leaves the host: %s", word, part)
			}
		}
	}
	got, err := message.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := got.Read()
	if err != nil {
		t.Fatal(err)
	}
	// What is needed to name and to group it is there.
	if f := addresses.Threads[0].Frames; len(f) != 3 || f[0].Module != testkit.Build || f[0].ModuleOffset != doc.Threads[0].Frames[0].ModuleOffset || !addresses.Threads[0].Crashed {
		t.Errorf("got %+v", addresses)
	}
	if got.Record.Kind != r.Kind || got.Record.Signature.Address != r.Signature.Address || got.Record.Build != testkit.Build || got.Record.Signal != "SIGSEGV" {
		t.Errorf("got %+v", got.Record)
	}
	// The kind of a crash without a stack has the name of its program.
	r.Kind = "/opt/" + testkit.Secret + " SIGSEGV"
	if m := message.New("web1", r, message.Addresses, nil, nil); m.Record.Kind != "" {
		t.Errorf("got kind %q", m.Record.Kind)
	}
	if m := message.NewCount("web1", r, message.Addresses, []string{r.ID}); strings.Contains(m.Record.Program, testkit.Secret) {
		t.Errorf("got %+v", m.Record)
	}
}

// Every field of a record is looked at by those who change it: one that is new stays on the
// host.
func TestAddressesOfRecord(t *testing.T) {
	r := new(store.Record)
	v := reflect.ValueOf(r).Elem()
	fill(v, "n")
	m := message.New("web1", r, message.Addresses, nil, nil)
	text, err := json.Marshal(m.Record)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{"schema": true, "id": true, "time": true, "pid": true, "uid": true, "gid": true, "signal": true, "kind": true, "number": true, "signature": true, "held": true, "kept": true, "threads": true}
	for name, value := range fields {
		if !allowed[name] {
			t.Errorf("%s leaves the host: %v", name, value)
		}
	}
	if m.Record.PID != 0 || m.Record.UID != 0 {
		t.Errorf("got %+v", m.Record)
	}
}

// fill gives every field a value.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), text)
			}
		}
	default:
	}
}

// A report that is too large is cut until it fits; threads that crashed stay.
func TestPack(t *testing.T) {
	doc := testkit.Document("parse")
	crashed := doc.Threads[0]
	doc.Threads = nil
	for i := range 3000 {
		th := report.Thread{TID: i}
		for j := range 30 {
			th.Frames = append(th.Frames, report.Frame{Index: j, Function: fmt.Sprintf("f%x", uint64(i*j)*0x9e3779b97f4a7c15), PC: report.Addr(uint64(i*j) * 0x9e3779b97f4a7c15)})
		}
		doc.Threads = append(doc.Threads, th)
	}
	doc.Threads = append(doc.Threads, crashed)
	for most, want := range map[int]int{100 << 20: 3001, 300 << 10: 400, 40 << 10: 50, 8 << 10: 1} {
		packed := message.Pack(doc, most)
		got, err := (&message.Message{Report: packed}).Read()
		if err != nil || len(packed) > most || len(got.Threads) != want {
			t.Fatalf("%d bytes: got %d threads in %d bytes, %v", most, len(got.Threads), len(packed), err)
		}
		if want < 3001 && (!got.Threads[0].Crashed || !strings.Contains(got.Problems[0], "cut to")) {
			t.Errorf("%d bytes: got %+v, %v", most, got.Threads[0], got.Problems)
		}
	}
	if packed := message.Pack(doc, 100); packed != nil {
		t.Errorf("got %d bytes", len(packed))
	}
}

// A count has another id if it has another crash, also after the first.
func TestCountID(t *testing.T) {
	r, _ := testkit.Crash(1, "parse")
	one := message.NewCount("web1", r, message.Names, []string{"1", "2"})
	two := message.NewCount("web1", r, message.Names, []string{"1", "2", "3"})
	if one.ID == two.ID {
		t.Errorf("both are %s", one.ID)
	}
	if m, err := message.Decode(testkit.Encode(t, two)); err != nil || m.Subject() != "sfcore.v1.count.web1" {
		t.Errorf("got %+v, %v", m, err)
	}
}

// FuzzDecode reads anything. What is read can be written, and is the same when it is read
// again.
func FuzzDecode(f *testing.F) {
	f.Add(testkit.Encode(f, testkit.Message("web1", 1, "parse", "main")))
	r, doc := testkit.Crash(1, "parse")
	f.Add(testkit.Encode(f, message.New("web1", r, message.Addresses, doc, nil)))
	f.Add(testkit.Encode(f, message.NewCount("web1", r, message.Names, []string{"1", "2"})))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := message.Decode(text)
		if (err == nil) == (m == nil) {
			t.Fatalf("got %v, %v", m, err)
		}
		if err != nil {
			return
		}
		if !message.ValidHost(m.Host) || m.Count == nil && !store.ValidID(m.Record.ID) || strings.Count(m.Subject(), ".") != 3 {
			t.Fatalf("got %+v", m)
		}
		if doc, err := m.Read(); err == nil && doc != nil {
			if packed := message.Pack(doc, 4096); len(packed) > 4096 {
				t.Fatalf("got %d bytes", len(packed))
			}
		}
	})
}
