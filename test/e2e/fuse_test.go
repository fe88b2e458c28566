//go:build e2e && linux

package e2e

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fuseEnv makes this test's program serve a FUSE file system.
const fuseEnv = "SFCORE_TEST_FUSE"

func TestMain(m *testing.M) {
	if args := os.Getenv(fuseEnv); args != "" {
		if err := serveFUSE(strings.Split(args, "\n")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// fuseServer is a file system with the files "prog", with data; "never", of which no
// read is answered; and "partly", of which reads of the middle are not answered, and
// no writes.
type fuseServer struct {
	dev  int
	data []byte
	hung atomic.Bool // no answers any more
	mute atomic.Bool // no answers to reads beyond the first page any more
}

// The files, and the size of the last two. [hungLo, hungHi) is the middle.
const (
	progNode, neverNode, partlyNode = 2, 3, 4

	hungSize       = 2 << 20
	hungLo, hungHi = hungSize / 4, hungSize / 4 * 3
)

var fuseNodes = map[string]uint64{"prog": progNode, "never": neverNode, "partly": partlyNode}

// errNoAnswer is no error number: there is no reply.
const errNoAnswer = syscall.Errno(^uintptr(0))

// Operations and sizes [linux include/uapi/linux/fuse.h].
const (
	fuseLookup, fuseForget, fuseGetattr, fuseOpen, fuseRead = 1, 2, 3, 14, 15
	fuseRelease, fuseFlush, fuseInit, fuseInterrupt         = 18, 25, 26, 36
	fuseAccess, fuseBatchForget, fuseWrite, fuseStatfs      = 34, 42, 16, 17
)

func (s *fuseServer) attr(node uint64) []byte {
	mode, size := uint32(unix.S_IFDIR|0o755), uint64(4096)
	if node >= progNode {
		mode, size = unix.S_IFREG|0o755, uint64(hungSize)
	}
	if node == progNode {
		size = uint64(len(s.data))
	}
	b := binary.NativeEndian.AppendUint64(nil, node)
	b = binary.NativeEndian.AppendUint64(b, size)
	b = append(b, make([]byte, 44)...) // blocks, times
	for _, v := range []uint32{mode, 1, 0, 0, 0, 4096, 0} {
		b = binary.NativeEndian.AppendUint32(b, v)
	}
	return b
}

// answer returns the reply to a request, or an error number. No reply is nil.
func (s *fuseServer) answer(op uint32, node uint64, arg []byte) ([]byte, syscall.Errno) {
	switch op {
	case fuseInit:
		b := make([]byte, 64)
		binary.NativeEndian.PutUint32(b, 7)
		binary.NativeEndian.PutUint32(b[4:], 31)
		binary.NativeEndian.PutUint32(b[20:], 1<<16)
		return b, 0
	case fuseLookup:
		file, ok := fuseNodes[string(bytes.TrimRight(arg, "\x00"))]
		if !ok {
			return nil, syscall.ENOENT
		}
		return append(append(binary.NativeEndian.AppendUint64(nil, file), make([]byte, 32)...), s.attr(file)...), 0
	case fuseGetattr:
		return append(make([]byte, 16), s.attr(node)...), 0
	case fuseOpen:
		return make([]byte, 16), 0
	case fuseRead:
		off, size := binary.NativeEndian.Uint64(arg[8:]), uint64(binary.NativeEndian.Uint32(arg[16:]))
		if s.mute.Load() && off > 0 {
			return nil, errNoAnswer
		}
		if node == neverNode || node == partlyNode && off < hungHi && off+size > hungLo {
			return nil, errNoAnswer
		} else if node == partlyNode {
			return make([]byte, min(size, hungSize-min(off, hungSize))), 0
		}
		off = min(off, uint64(len(s.data)))
		return append([]byte{}, s.data[off:min(off+size, uint64(len(s.data)))]...), 0
	case fuseWrite:
		return nil, errNoAnswer
	case fuseStatfs:
		b := make([]byte, 80)
		binary.NativeEndian.PutUint32(b[44:], 255) // what names may have, which overlayfs asks for
		return b, 0
	case fuseRelease, fuseFlush, fuseAccess:
		return []byte{}, 0
	}
	return nil, syscall.ENOSYS
}

func (s *fuseServer) run() {
	buf := make([]byte, 1<<17)
	for {
		n, err := unix.Read(s.dev, buf)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENOENT) {
			continue
		} else if err != nil || s.hung.Load() {
			select {} // until it is killed
		}
		op, unique, node := binary.NativeEndian.Uint32(buf[4:]), buf[8:16], binary.NativeEndian.Uint64(buf[16:])
		if op == fuseForget || op == fuseBatchForget || op == fuseInterrupt {
			continue
		}
		reply, errno := s.answer(op, node, buf[40:n])
		if errno == errNoAnswer {
			continue
		}
		head := binary.NativeEndian.AppendUint32(nil, uint32(16+len(reply)))
		head = binary.NativeEndian.AppendUint32(head, uint32(-int32(errno)))
		_, _ = unix.Write(s.dev, append(append(head, unique...), reply...))
	}
}

// serveFUSE mounts a file system with a copy of a program, starts the program
// from there, prints its id, and answers until its input ends. With "lazy" the
// file system is then no longer mounted; with "root" it is also the root
// directory of the program; with "overlay" the program is in an overlay on it, in a
// user namespace. With "hung MODE" it runs the program itself, with its own
// input and output. With "own" it runs the program, sfcore, from the file system to
// visit this very process.
func serveFUSE(args []string) error {
	how, dir, program := args[0], args[1], args[2]
	if how == "inside" {
		return runInOverlay(dir, program)
	}
	s := new(fuseServer)
	var err error
	if s.data, err = os.ReadFile(program); err != nil {
		return err
	}
	if s.dev, err = unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	opts := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", s.dev)
	if err := unix.Mount("hang", dir, "fuse", 0, opts); err != nil {
		return err
	}
	go s.run()
	if mode, ok := strings.CutPrefix(how, "hung "); ok {
		cmd := exec.Command(program, mode, dir)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		return cmd.Run()
	}
	if how == "own" {
		fmt.Println("ready", os.Getpid())
		cmd := exec.Command(filepath.Join(dir, "prog"), "bt", "-v", "-p", fmt.Sprint(os.Getpid()))
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
		_ = cmd.Run()
		fmt.Println(cmd.ProcessState)
		return nil
	}
	cmd := exec.Command(filepath.Join(dir, "prog"), "3")
	if how == "root" {
		cmd = exec.Command("/prog", "3")
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir}
	}
	if how == "overlay" {
		cmd = exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fuseEnv+"=inside\n"+dir+"\n"+filepath.Dir(program))
		root := []syscall.SysProcIDMap{{Size: 1}}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, UidMappings: root, GidMappings: root}
	}
	cmd.Stderr = os.Stderr
	if _, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		return fmt.Errorf("got %q, %w", line, err)
	}
	if how == "lazy" {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			return err
		}
	}
	s.mute.Store(how == "mute")
	s.hung.Store(how != "mute")
	fmt.Println("ready", cmd.Process.Pid)
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = cmd.Process.Kill()
	return nil
}

// runInOverlay runs the program of a file system in an overlay on it.
func runInOverlay(dir, other string) error {
	overlay, err := os.MkdirTemp(other, "overlay")
	if err != nil {
		return err
	}
	if err := unix.Mount("overlay", overlay, "overlay", unix.MS_RDONLY, "lowerdir="+dir+":"+other); err != nil {
		return err
	}
	return unix.Exec(filepath.Join(overlay, "prog"), []string{"prog", "3"}, nil)
}

func needFUSE(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip(err)
	}
}

// fuseProgram is a program that uses a FUSE file system.
type fuseProgram struct {
	pid    string
	server *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	ended  bool
}

// end ends the file system, which lets go of whoever waits for it.
func (f *fuseProgram) end() {
	if !f.ended {
		f.ended = true
		f.in.Close()
		_ = f.server.Process.Kill()
		_ = f.server.Wait()
	}
}

// startFUSE serves a file system in a mount namespace of its own; see serveFUSE.
func startFUSE(t *testing.T, how, program string) *fuseProgram {
	t.Helper()
	f := &fuseProgram{server: exec.Command(os.Args[0])}
	f.server.Env = append(os.Environ(), fuseEnv+"="+how+"\n"+t.TempDir()+"\n"+program)
	f.server.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	var err error
	if f.in, err = f.server.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := f.server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.end)
	f.out = bufio.NewReader(out)
	line, _ := f.out.ReadString('\n')
	if _, err := fmt.Sscanf(line, "ready %s", &f.pid); err != nil {
		t.Skipf("no FUSE here: %s", line)
	}
	return f
}

// A file that answers when it is opened, and then no more, costs what the run may.
func TestMuteFUSE(t *testing.T) {
	needFUSE(t)
	sfcore, program := buildSfcore(t), filepath.Join(t.TempDir(), "prog")
	if out, err := exec.Command("gcc", "-static", "-O1", "-g", "-pthread", "-o", program, "testdata/live/depths.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc is needed: %v\n%s", err, out)
	}
	f := startFUSE(t, "mute", program)
	bt := exec.Command(sfcore, "bt", "--fuse", "--max-total-time", "2s", "-p", f.pid)
	said, err := os.Create(filepath.Join(t.TempDir(), "said")) // a pipe would end with the process that cannot
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	bt.Stdout, bt.Stderr = said, said
	if err := bt.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = bt.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(unhurried):
		t.Error("sfcore does not end")
		f.end()
		<-done
	}
	got, err := os.ReadFile(said.Name())
	if want := "was killed, but has not ended: it waits"; !strings.Contains(string(got), want) {
		t.Errorf("got %q, %v, want %q in it", got, err, want)
	}
}

// A process whose program is in a file system that does not answer any more is
// shown, and sfcore ends.
func TestHungFUSE(t *testing.T) {
	needFUSE(t)
	sfcore := buildSfcore(t)
	program := filepath.Join(t.TempDir(), "prog")
	if out, err := exec.Command("gcc", "-static", "-O1", "-g", "-fno-optimize-sibling-calls", "-pthread", "-o", program, "testdata/live/depths.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc is needed: %v\n%s", err, out)
	}
	for how, want := range map[string]string{
		"mounted": "of type fuse, which may never answer",
		"lazy":    "which is not mounted, which may never answer",
		"root":    "no files are looked for where the process sees them",
		"overlay": "of type overlay in a user namespace, which may never answer",
	} {
		t.Run(how, func(t *testing.T) {
			f := startFUSE(t, how, program)
			pid := f.pid
			var stdout, stderr bytes.Buffer
			bt := exec.Command(sfcore, "bt", "--locals", "-p", pid)
			bt.Stdout, bt.Stderr = &stdout, &stderr
			begun := time.Now()
			if err := bt.Start(); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- bt.Wait() }()
			select {
			case err := <-done:
				t.Logf("after %v: %v", time.Since(begun), err)
			case <-time.After(10 * time.Second):
				t.Error("sfcore does not end")
				_ = bt.Process.Kill()
				f.end()
				t.Log(<-done)
			}
			if n := strings.Count(stdout.String(), "\nThread "); n != 4 {
				t.Errorf("got %d threads, want 4:\n%s", n, stdout.String())
			}
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("got %q, want %q in it", stderr.String(), want)
			}
		})
	}
}
