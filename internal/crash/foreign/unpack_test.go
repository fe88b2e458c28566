package foreign

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// memory is a file in memory.
type memory struct {
	data  []byte
	at    int64
	wrote int
}

func (m *memory) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekCurrent || offset < 0 {
		return 0, errors.New("only forward")
	}
	m.at += offset
	return m.at, nil
}

func (m *memory) Write(p []byte) (int, error) {
	if grow := m.at + int64(len(p)) - int64(len(m.data)); grow > 0 {
		m.data = append(m.data, make([]byte, grow)...)
	}
	m.wrote += copy(m.data[m.at:], p)
	m.at += int64(len(p))
	return len(p), nil
}

func packed(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

func TestUnpack(t *testing.T) {
	page := bytes.Repeat([]byte{7}, pageSize)
	sparse := bytes.Join([][]byte{page, make([]byte, 3<<20), page, {1, 2, 3}, make([]byte, 2*pageSize)}, nil)
	for _, tt := range []struct {
		name        string
		data        []byte
		in          []byte
		most        int64
		wrote, size int
		err         error
	}{
		{"empty", nil, nil, 10, 0, 0, nil},
		{"not packed", []byte("core"), []byte("core"), 10, 4, 4, nil},
		{"packed", []byte("core"), packed(t, []byte("core")), 10, 4, 4, nil},
		{"holes", sparse, packed(t, sparse), 4 << 20, 3*pageSize + 1, len(sparse), nil},
		{"as large as allowed", []byte("core"), packed(t, []byte("core")), 4, 4, 4, nil},
		{"larger", nil, packed(t, []byte("core!")), 4, 0, 0, ErrTooLarge},
		{"cut off", sparse, packed(t, sparse)[:20], 4 << 20, 0, 0, io.ErrUnexpectedEOF},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out memory
			size, err := Unpack(&out, bytes.NewReader(tt.in), CoreForm, tt.most)
			if !errors.Is(err, tt.err) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if tt.err == nil && (int(size) != tt.size || !bytes.Equal(out.data, tt.data) || out.wrote > tt.wrote+pageSize) {
				t.Errorf("got %d bytes, %d of them written, want %d and %d", size, out.wrote, tt.size, tt.wrote)
			}
		})
	}
}

func TestPacked(t *testing.T) {
	for text, want := range map[string]bool{"\x7fELF": false, "\x28\xb5\x2f\xfd": true, "": false} {
		if got := Packed(strings.NewReader(text), CoreForm); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
	if !Packed(strings.NewReader(""), JournalForm) {
		t.Error("a core in the journal is not packed")
	}
}
