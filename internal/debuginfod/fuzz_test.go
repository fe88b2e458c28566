package debuginfod

import (
	"bufio"
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/elfx"
)

// reply is a server whose answer to everything is these bytes.
type reply []byte

func (r reply) RoundTrip(req *http.Request) (*http.Response, error) {
	return http.ReadResponse(bufio.NewReader(bytes.NewReader(r)), req)
}

// FuzzReply reads any bytes as the answer of a server. The result is the file
// with the build-id that was asked for or an error, and nothing else is left in
// the cache.
func FuzzReply(f *testing.F) {
	good := "HTTP/1.1 200 OK\r\nContent-Length: 144\r\n\r\n" + string(program(0xff))
	f.Add([]byte(good))
	f.Add([]byte(good[:len(good)-1]))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n\x7fELF"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 404 Not Found\r\n\r\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 4096
		c := &Client{
			servers: []string{"http://server"}, cacheDir: filepath.Join(dir, "cache"),
			stall: time.Minute, budget: budget{time: time.Minute, bytes: limit},
			ctx: context.Background(), http: http.Client{Transport: reply(data)}, down: map[string]bool{},
		}
		defer func() { _ = os.RemoveAll(c.cacheDir) }()
		name, err := c.Executable(id)
		if (name == "") == (err == nil) {
			t.Fatalf("got %q and %v", name, err)
		}
		if err == nil {
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if e, err := elfx.Parse(file); err != nil || e.BuildID() != id || len(file) > limit {
				t.Errorf("got a file of %d bytes, %v", len(file), err)
			}
		}
		_ = filepath.WalkDir(c.cacheDir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path == name {
				return nil //nolint:nilerr // there may be no cache
			}
			if st, err := d.Info(); err != nil || st.Size() > 0 { // an empty one notes that no server has it
				t.Errorf("left behind: %s", path)
			}
			return nil
		})
	})
}
