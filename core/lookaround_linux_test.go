package core

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/arch"
)

// aroundFiles are the files of a process of s390x in a pid namespace of its own, with a
// thread that sleeps, one that runs, one that has just ended, and what is no thread. Its
// vDSO is at an address of this process.
func aroundFiles(t *testing.T) map[string]string {
	t.Helper()
	vdso, addr := mapNew(t, 2*headSize)
	copy(vdso, programOf(uint16(elf.EM_S390), binary.BigEndian))
	auxv := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, ATSysinfoEhdr), addr)
	return map[string]string{
		"status":             "Tgid:\t7\nNSpid:\t7\t1\n",
		"stat":               statOf("prog", "S"),
		"ns/pid":             "-> pid:[1]",
		"ns/mnt":             "-> mnt:[1]",
		"task/7/maps":        fmt.Sprintf("1000-5000 rw-p 0 00:00 0\n%x-%x r-xp 0 00:00 0 [vdso]\n", addr, addr+2*headSize),
		"task/7/pagemap":     "",
		"task/7/auxv":        string(auxv),
		"task/7/cmdline":     "prog\x00-x\x00",
		"task/7/exe":         "-> /bin/prog (deleted)",
		"task/7/root":        "-> /",
		"task/7/mountinfo":   "36 35 0:99 / / rw - ext4 /dev/root rw\n",
		"task/7/stat":        statOf("prog", "S"),
		"task/7/status":      "NSpid:\t7\t1\n",
		"task/7/syscall":     syscallOf(unix.SYS_READ, 0x4f00),
		"task/8/stat":        statOf("runs", "R"),
		"task/8/status":      "NSpid:\t8\t2\n",
		"task/8/syscall":     "running\n",
		"task/9/children":    "",
		"task/self/children": "",
	}
}

// aroundOptions are those of Attach.
func aroundOptions() *AttachOptions {
	return &AttachOptions{StackBudget: DefaultStackBudget, StackTotal: DefaultStackTotal}
}

// What a visit finds is what the files of the process say.
func TestLookAround(t *testing.T) {
	v := openOwn(t)
	v.dir, v.files = procFiles(t, aroundFiles(t)), newHeldFiles()
	if err := v.lookAround(aroundOptions()); err != nil {
		t.Fatal(err)
	}
	defer v.root.Close()
	defer v.mem.pagemap.Close()
	if v.arch != arch.S390X || v.command != "prog -x" || v.executable != "/bin/prog" || v.snap.Started != 5 || v.snap.NSPID != 1 {
		t.Errorf("got %s, command %q of %q, start %d, id %d in its namespace", v.arch.Name, v.command, v.executable, v.snap.Started, v.snap.NSPID)
	}
	if want := map[int]procStat{7: {name: "prog", state: Sleeping, started: 5}, 8: {name: "runs", state: Running, started: 5}}; !maps.Equal(v.threads, want) {
		t.Errorf("got threads %+v, want %+v", v.threads, want)
	}
	if want := map[int]procSyscall{7: {unix.SYS_READ, [6]uint64{1, 2, 3, 4, 5, 6}, 0x4f00, 0x1000}}; !maps.Equal(v.asleep, want) {
		t.Errorf("got %+v asleep, want %+v", v.asleep, want)
	}
	if want := map[int]int{7: 1, 8: 2, 9: 0}; !maps.Equal(v.nsIDs, want) {
		t.Errorf("got ids %v, want %v", v.nsIDs, want)
	}
	if len(v.maps) != 2 || len(v.heads) != 1 || v.heads[0].Addr != v.maps[1].Lo || v.heads[0].Size != 2*headSize || string(v.heads[0].Data[:4]) != "\x7fELF" {
		t.Errorf("got mappings %+v, %d heads", v.maps, len(v.heads))
	}
	if v.files.mounted["00:63"] != "ext4" || len(v.room) != usualStack || len(v.topRoom) != topSize+redZone+0x100+redZone {
		t.Errorf("got file systems %v, %d bytes of room, and %d for tops", v.files.mounted, len(v.room), len(v.topRoom))
	}
	// A thread that sleeps where nothing else shows the mappings.
	if text, err := v.dir.read(v.dir.memory("maps")); err != nil || string(text) != string(v.mapsText) {
		t.Errorf("got mappings %q, %v, want %q", v.mapsText, err, text)
	}
}

// Mappings that are known are not looked at again, nor is a program that is known. With
// FUSE, no file system is doubted.
func TestLookAtMaps(t *testing.T) {
	files := aroundFiles(t)
	for _, tt := range []struct {
		name  string
		known string // the mappings
		arch  *arch.Arch
		fuse  bool
		maps  int
		want  string // the command
	}{
		{"all is new", "", nil, false, 2, "prog -x"},
		{"other mappings of a known program", "1000-2000 rw-p 0 00:00 0\n", arch.S390X, false, 2, ""},
		{"the same mappings", files["task/7/maps"], arch.S390X, false, 0, ""},
		{"FUSE is permitted", "", nil, true, 2, "prog -x"},
	} {
		v := openOwn(t)
		v.dir, v.files, v.mapsText, v.arch = procFiles(t, files), newHeldFiles(), []byte(tt.known), tt.arch
		err := v.lookAtMaps(&AttachOptions{FUSE: tt.fuse})
		if err != nil || len(v.maps) != tt.maps || v.command != tt.want || v.arch != arch.S390X {
			t.Errorf("%s: got %d mappings, command %q, %v, want %d, %q", tt.name, len(v.maps), v.command, err, tt.maps, tt.want)
		}
		if asked := v.files.mounted != nil; asked != (tt.maps > 0 && !tt.fuse) {
			t.Errorf("%s: got file systems %v", tt.name, v.files.mounted)
		}
		if v.mem.pagemap == nil {
			t.Errorf("%s: got no pagemap", tt.name)
		}
		before := v.mem.pagemap
		if err := v.lookAtMaps(&AttachOptions{}); err != nil || v.mem.pagemap != before {
			t.Errorf("%s: pagemap was opened again, %v", tt.name, err)
		}
		before.Close()
		if v.root != nil {
			v.root.Close()
		}
	}
}

// What cannot be read of a process ends its visit, with the reason.
func TestLookAroundErrors(t *testing.T) {
	const gone = "process 7: no such process"
	for _, tt := range []struct {
		name   string
		change map[string]string // "-" removes a file, "+x" adds to one
		opts   func(o *AttachOptions)
		is     error
		want   string
	}{
		{"no status", map[string]string{"status": "-"}, nil, ErrNoProcess, gone},
		{"a thread", map[string]string{"status": "Tgid:\t6\n"}, nil, nil, "7 is a thread of process 6; use the id of the process"},
		{"no stat", map[string]string{"stat": "-"}, nil, ErrNoProcess, gone},
		{"a damaged stat", map[string]string{"stat": "7 prog S"}, nil, nil, "process 7: /proc/PID/stat: no name"},
		{"ended", map[string]string{"stat": statOf("prog", "Z"), "task/7/stat": statOf("prog", "Z"), "task/8/stat": statOf("runs", "X")}, nil, ErrNoProcess, "process 7 has ended and is a zombie until its parent waits for it: no such process"},
		{"no mappings", map[string]string{"task/7/maps": ""}, nil, errNoMemory, errNoMemory.Error()},
		{"mappings that are gone", map[string]string{"task/7/maps": "-"}, nil, ErrNoProcess, gone},
		{"damaged mappings", map[string]string{"task/7/maps": "1000\n"}, nil, errMapsLine, "/proc/PID/maps: line 1: not a line of /proc/PID/maps"},
		{"no program", map[string]string{"task/7/maps": "1000-2000 rw-p 0 00:00 0\n"}, nil, ErrNoProcess, gone},
		{"no room", map[string]string{"task/7/maps": "+800000000000-7000000000000000 rw-p 0 00:00 0\n"}, func(o *AttachOptions) { o.Memory = 1 << 60 }, unix.ENOMEM, "process 7: no room for copies of "},
		{"a thread in execve", map[string]string{"task/7/syscall": syscallOf(unix.SYS_EXECVE, 0x4f00)}, nil, nil, "process 7: " + (&executingError{fakeID}).Error()},
	} {
		v, files, opts := openOwn(t), aroundFiles(t), aroundOptions()
		for name, text := range tt.change {
			if more, ok := strings.CutPrefix(text, "+"); ok {
				text = files[name] + more
			}
			if files[name] = text; text == "-" {
				delete(files, name)
			}
		}
		if tt.opts != nil {
			tt.opts(opts)
		}
		v.dir, v.files = procFiles(t, files), newHeldFiles()
		err := v.lookAround(opts)
		if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %v: %s", tt.name, err, tt.is, tt.want)
		}
	}
	// A process that executes another program has another memory.
	v := &visit{dir: procFiles(t, aroundFiles(t)), files: newHeldFiles(), mem: memoryOfNobody(t)}
	if err := v.lookAround(aroundOptions()); !errors.Is(err, errNoMemory) {
		t.Errorf("other memory: got %v, want %v", err, errNoMemory)
	}
	// The memory is that of a thread that has not ended.
	v = &visit{dir: procFiles(t, aroundFiles(t)), files: newHeldFiles()}
	v.dir.alive = 1 << 30
	if err := v.lookAround(aroundOptions()); !errors.Is(err, ErrNoProcess) || err.Error() != gone || v.mem != nil {
		t.Errorf("no memory: got %v, want %s", err, gone)
	}
}
