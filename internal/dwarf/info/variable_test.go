package info

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// locals opens a program of target's tests.
func locals(t *testing.T, name string) *Data {
	t.Helper()
	data, err := os.ReadFile("../../../testdata/locals/" + name + "/prog")
	if err != nil {
		t.Fatal(err)
	}
	f, err := elfx.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return New(f, Options{})
}

// crashed is where poke, inlined in crash, writes to the null pointer.
var crashed = map[string]uint64{"amd64-O0": 0x4011ad, "s390x-O0": 0x10002c0}

func TestScopes(t *testing.T) {
	for name, addr := range crashed {
		t.Run(name, func(t *testing.T) {
			scopes, err := locals(t, name).Scopes(addr)
			if err != nil || len(scopes) != 2 {
				t.Fatalf("got %d scopes, %v, want 2", len(scopes), err)
			}
			var got []string
			for _, s := range scopes {
				for _, v := range s.Variables {
					kind := "local"
					if v.Parameter {
						kind = "parameter"
					}
					got = append(got, fmt.Sprintf("%s: %s %s: %v", s.Func, kind, v.Name, v.Type))
				}
			}
			for _, want := range []string{
				"poke: parameter where: int *", "poke: local half: int", "crash: parameter why: const char *",
				"crash: local table: int [6]", "crash: local h: handler", "crash: local copy: struct node", "crash: local flags: enum flag",
			} {
				if !slices.Contains(got, want) {
					t.Errorf("got %s, want %s among them", strings.Join(got, "\n"), want)
				}
			}
			for _, v := range scopes[1].Variables {
				if want := map[string]int{"why": 36, "table": 39}[v.Name]; want != 0 && v.Line != want {
					t.Errorf("%s: got line %d, want %d", v.Name, v.Line, want)
				}
				switch v.Name {
				case "h":
					if s := v.Type.Elem().String(); s != "int (*)(int)" {
						t.Errorf("got %s, want int (*)(int)", s)
					}
				case "copy":
					checkMembers(t, v.Type)
				}
			}
		})
	}
}

func checkMembers(t *testing.T, node *Type) {
	t.Helper()
	members, variants := node.Members()
	var got []string
	for _, m := range members {
		got = append(got, fmt.Sprintf("%s %v %d %d %d", m.Name, m.Type, m.Off, m.Bits, m.BitOff))
	}
	want := []string{
		"id int 0 0 0", "next struct node * 8 0 0", "name char [12] 16 0 0", "low unsigned int 0 3 224", "signed_bits int 0 5 227",
		"wide_bits uint64_t 0 40 256", "at struct point [2] 38 0 0", "u union {...} 48 0 0",
	}
	if !slices.Equal(got, want) || variants != nil {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestEnumerators(t *testing.T) {
	scopes, _ := locals(t, "s390x-O0").Scopes(crashed["s390x-O0"])
	for _, v := range scopes[1].Variables {
		if v.Name == "c" {
			if got := fmt.Sprint(v.Type.Enumerators()); got != "[{RED 0} {GREEN 5} {BLUE 18446744073709551614}]" {
				t.Errorf("got %s", got)
			}
		}
	}
}

// A qualifier that an array shares with its elements is written once.
func TestQualifiedArray(t *testing.T) {
	data, err := os.ReadFile("../../../testdata/cores/amd64-v3-threads/exe/threads")
	if err != nil {
		t.Fatal(err)
	}
	f, err := elfx.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	scopes, err := New(f, Options{}).Scopes(0x4012c2)
	if err != nil || len(scopes) != 1 {
		t.Fatalf("got %d scopes, %v, want 1", len(scopes), err)
	}
	for _, v := range scopes[0].Variables {
		if v.Name == "q" {
			if got := v.Type.String(); got != "volatile int [4]" {
				t.Errorf("got %s, want volatile int [4]", got)
			}
			return
		}
	}
	t.Error("there is no q")
}

// TestLocationLists looks two addresses up in a list of each form, and one in none
// of its ranges.
func TestLocationLists(t *testing.T) {
	tests := []struct {
		name    string
		version uint16
		split   bool
		list    func(b *testkit.Bytes)
		want    [3]string // at 0x1004, 0x1014 and 0x1020
	}{
		{"DWARF 4", 4, false, func(b *testkit.Bytes) {
			b.D64(0, 0x10).D16(1).D8(0x50).D64(^uint64(0), 0x1010).D64(0, 8).D16(1).D8(0x51).D64(0, 0)
		}, [3]string{"50", "51", "none"}},
		{"split DWARF 4", 4, true, func(b *testkit.Bytes) {
			b.D8(3).ULEB(0).D32(0x10).D16(1).D8(0x50).D8(2).ULEB(1).ULEB(2).D16(1).D8(0x51).D8(0)
		}, [3]string{"50", "51", "none"}},
		{"offset pairs", 5, false, func(b *testkit.Bytes) {
			b.D8(9, 1, 2).D8(4).ULEB(0).ULEB(0x10).ULEB(1).D8(0x50).D8(6).D64(0x1010).D8(4).ULEB(0).ULEB(8).ULEB(1).D8(0x51).D8(0)
		}, [3]string{"50", "51", "none"}},
		{"indexes", 5, false, func(b *testkit.Bytes) {
			b.D8(3).ULEB(0).ULEB(0x10).ULEB(1).D8(0x50).D8(2).ULEB(1).ULEB(2).ULEB(1).D8(0x51).D8(0)
		}, [3]string{"50", "51", "none"}},
		{"DWARF 4, ranges from 0", 4, false, func(b *testkit.Bytes) {
			b.D64(^uint64(0), 0, 0, 0x1004).D16(1).D8(0x4f).D64(0x1004, 0x1005).D16(2).D8(0x50, 0x50).D64(0x1014, 0x1020).D16(1).D8(0x51).D64(0, 0)
		}, [3]string{"5050", "51", "none"}},
		{"split DWARF 4, from a base", 4, true, func(b *testkit.Bytes) {
			b.D8(4).D32(4, 5).D16(1).D8(0x50).D8(1).ULEB(1).D8(4).D32(0, 4).D16(1).D8(0x4f).D8(4).D32(4, 0x10).D16(1).D8(0x51).D8(0)
		}, [3]string{"50", "51", "none"}},
		{"split DWARF 4, an unknown kind", 4, true, func(b *testkit.Bytes) {
			b.D8(3).ULEB(0).D32(0x10).D16(1).D8(0x50).D8(5, 3).ULEB(1).D32(0x10).D16(1).D8(0x51)
		}, [3]string{"50", "none", "none"}},
		{"an unknown kind", 5, false, func(b *testkit.Bytes) {
			b.D8(3).ULEB(0).ULEB(0x10).ULEB(1).D8(0x50).D8(10, 3).ULEB(1).ULEB(0x10).ULEB(1).D8(0x51).D8(0)
		}, [3]string{"50", "none", "none"}},
		{"an empty default", 5, false, func(b *testkit.Bytes) {
			b.D8(5).ULEB(0).D8(7).D64(0x1000, 0x1010).ULEB(1).D8(0x50).D8(0)
		}, [3]string{"50", "", ""}},
		{"a base by its index", 5, false, func(b *testkit.Bytes) {
			b.D8(1).ULEB(1).D8(4).ULEB(4, 8).ULEB(1).D8(0x51).D8(4).ULEB(0x10, 0x11).ULEB(1).D8(0x52).D8(0)
		}, [3]string{"none", "51", "52"}},
		{"addresses, a default", 5, false, func(b *testkit.Bytes) {
			b.D8(5).ULEB(1).D8(0x53).D8(7).D64(0x1000, 0x1010).ULEB(1).D8(0x50).D8(8).D64(0x1010).ULEB(8).ULEB(1).D8(0x51).D8(0)
		}, [3]string{"50", "51", "53"}},
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, tt := range tests {
			t.Run(order.String()+"/"+tt.name, func(t *testing.T) {
				f := open(t, readProgram(t, "lines-dwarf5")).main
				f.big = order == binary.BigEndian
				list := testkit.New(order)
				tt.list(list)
				data := list.Done()
				set := func(s section, b []byte) { f.contents[s], f.whole[s] = b, true }
				set(secAddr, testkit.New(order).D64(0x1000, 0x1010, 0x1018).Done())
				u := &unit{file: f, version: tt.version, addrSize: 8, offsetSize: 4, lowPC: 0x1000}
				if tt.split {
					u.skeleton = &unit{file: f, addrSize: 8, lowPC: 0x1000}
				}
				for n := range len(data) + 1 { // whole, and cut off
					part := data[:len(data)-n]
					set(secLoc, part)
					set(secLoclists, part)
					for i, addr := range []uint64{0x1004, 0x1014, 0x1020} {
						got := "none"
						if e := u.location(value{form: formSecOffset}, addr); e.Known() {
							got = fmt.Sprintf("%x", e.Code)
						}
						if n == 0 && got != tt.want[i] || n > 0 && got != tt.want[i] && got != "none" {
							t.Errorf("%#x, %d bytes less: got %s, want %s", addr, n, got, tt.want[i])
						}
					}
				}
			})
		}
	}
}
