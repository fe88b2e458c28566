package watch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// fileEvent says that a file of a directory was closed after writing, or came under a
// name. If lost is set, some were not told.
type fileEvent struct {
	name string
	lost bool
}

// listenTo has the kernel tell of files in a directory [inotify(7)], until stop is called.
// With an error it tells of none, and stop does nothing.
func listenTo(dir *os.File) (events <-chan fileEvent, stop func(), err error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, func() {}, fmt.Errorf("inotify: %w", err)
	}
	f := os.NewFile(uintptr(fd), "inotify")
	name := fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
	if _, err := unix.InotifyAddWatch(fd, name, unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO|unix.IN_ONLYDIR); err != nil {
		f.Close()
		return nil, func() {}, fmt.Errorf("inotify: %w", err)
	}
	told, ended := make(chan fileEvent), make(chan struct{})
	go func() {
		b := make([]byte, 64<<10)
		for {
			n, err := f.Read(b)
			if err != nil {
				return
			}
			for _, e := range parseEvents(b[:n]) {
				select {
				case told <- e:
				case <-ended:
					return
				}
			}
		}
	}()
	return told, func() {
		close(ended)
		f.Close()
	}, nil
}

// parseEvents reads what the kernel tells.
func parseEvents(b []byte) (events []fileEvent) {
	for len(b) >= unix.SizeofInotifyEvent {
		mask, length := binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[12:])
		size := min(unix.SizeofInotifyEvent+uint64(length), uint64(len(b)))
		name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:size], []byte{0})
		if lost := mask&unix.IN_Q_OVERFLOW != 0; lost || len(name) > 0 {
			events = append(events, fileEvent{string(name), lost})
		}
		b = b[size:]
	}
	return events
}
