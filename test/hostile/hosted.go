package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
)

// host is a program that has started sfcore as its plugin.
type host struct {
	socket string
	conn   *grpc.ClientConn
}

// visit waits for the plugin's handshake on its standard output, and connects.
func visit(out io.Reader, f func(h *host)) error {
	line, err := bufio.NewReader(out).ReadString('\n')
	fields := strings.Split(line, "|")
	if len(fields) < 4 {
		return fmt.Errorf("the plugin says %q: %w", line, err)
	}
	h := &host{socket: fields[3]}
	if h.conn, err = grpc.NewClient("unix:"+h.socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}))); err != nil {
		return err
	}
	f(h)
	return h.conn.Close()
}

// raw is the codec of messages that are bytes already.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = data
	return nil
}

func (raw) Name() string { return "proto" }

// second is how the methods of the second version of the protocol begin.
const second = "/sfcore.plugin.v2.PluginService/"

// path of a method, which is one of the first version if it has no service.
func methodPath(method string) string {
	if strings.HasPrefix(method, "/") {
		return method
	}
	return "/sfcore.plugin.v1.Plugin/" + method
}

// start begins a call, whose answers nobody reads.
func (h *host) start(method string, request []byte) grpc.ClientStream {
	s, err := h.conn.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true}, methodPath(method))
	if err == nil {
		_ = s.SendMsg(&request)
		_ = s.CloseSend()
	}
	return s
}

// call makes a call, and throws the answers away. It waits for them for a while.
func (h *host) call(method string, request []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s, err := h.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, methodPath(method))
	if err != nil {
		return
	}
	_ = s.SendMsg(&request)
	_ = s.CloseSend()
	var answer []byte
	for s.RecvMsg(&answer) == nil {
	}
}

// together makes n calls at once.
func together(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

func field(b []byte, number protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), v)
}

// path is a field with a string.
func path(number protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), s)
}

// The first session of a connection.
var session1 = field(nil, 1, 1)

// plugin writes a core, and has a host do something to the plugin after it has opened it.
func (f *folder) plugin(p process, do func(h *host), flags ...string) []string {
	core := f.write("core", f.core(p))
	f.env = []string{"SFCORE_PLUGIN=5f7c6a1e0b5d4d0f9a3e8b1c72d9e6a4", "PLUGIN_PROTOCOL_VERSIONS=1,2"}
	f.talk = func(out io.Reader) error {
		return visit(out, func(h *host) {
			h.call("Open", path(1, core))
			do(h)
		})
	}
	return append([]string{"plugin", "--linger", "100ms"}, flags...)
}

func hosted() []input {
	walk := table(".eh_frame", 0, ehFrame(wide(nil)))
	with := func(p func() process, do func(h *host)) func(f *folder) []string {
		return func(f *folder) []string {
			f.program(walk)
			return f.plugin(p(), do)
		}
	}
	read := func(n uint64) []byte {
		b := protowire.AppendFixed64(protowire.AppendTag(session1[:2:2], 2, protowire.Fixed64Type), stackAt)
		return field(b, 3, n)
	}
	small := func() process { return process{} }
	long := func() process { return process{stack: deep(), threads: 2000} }
	return []input{
		{"plugin-unread", "a host asks 256 times for a stack of 262,144 frames, and reads no answer", false, with(long, func(h *host) {
			for range 256 {
				h.start("Stacks", append(session1[:2:2], field(nil, 2, 1)...))
			}
			time.Sleep(15 * time.Second)
		})},
		{"plugin-waits-unread", "the same of what threads wait for", false, with(long, func(h *host) {
			for range 256 {
				h.start("Waits", session1)
			}
			time.Sleep(15 * time.Second)
		})},
		{"plugin-groups", "a host asks 256 times for the stacks that differ of 2,000 threads with such a stack, and reads no answer", false, with(long, func(h *host) {
			for range 256 {
				h.start(second+"Groups", session1)
			}
			time.Sleep(15 * time.Second)
		})},
		{"plugin-groups-twice", "twice for them, with variables", false, with(long, func(h *host) {
			together(2, func(int) { h.call(second+"Groups", field(session1[:2:2], 3, 1)) })
		})},
		{"plugin-evaluate", "a host evaluates 256 expressions of 4,000 characters in the last frame of such a stack, 4 times at once", false, with(long, func(h *host) {
			request := field(session1[:2:2], 3, 262143)
			for i := range 256 {
				text := []string{strings.Repeat("(", 4000), strings.Repeat("-", 3999) + "1", strings.Repeat("1+", 1999) + "1", strings.Repeat("*", 3995) + "$rip"}[i%4]
				request = append(request, path(4, text)...)
			}
			together(4, func(int) { h.call(second+"Evaluate", request) })
		})},
		{"plugin-evaluate-arrays", "a host asks for as many elements as there can be, 100 times", false, with(small, func(h *host) {
			request := append(session1[:2:2], path(4, "*(char (*)[9223372036854775807])0x400000")...)
			request = append(request, path(4, "((char *)0x400000)[0]@9223372036854775807")...)
			for range 100 {
				h.call(second+"Evaluate", request)
			}
		})},
		{"plugin-stacks", "twice for all stacks of 2,000 threads that share such a stack", false, with(long, func(h *host) {
			together(2, func(int) { h.call("Stacks", session1) })
		})},
		{"plugin-tids", "a host asks for a stack of 262,144 frames 65,536 times in a request", false, with(long, func(h *host) {
			h.call("Stacks", append(session1[:2:2], protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), times(65536, 1))...))
		})},
		{"plugin-tids-many", "the same 4,000,000 times", false, with(long, func(h *host) {
			for range 20 {
				h.call("Stacks", append(session1[:2:2], protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), times(4000000, 1))...))
			}
		})},
		{"plugin-sessions", "a host opens a core of 2,000 threads 5,000 times", false, func(f *folder) []string {
			f.program(walk)
			return f.plugin(process{threads: 2000}, func(h *host) { together(5000, func(int) { h.call("Open", path(1, f.in("core"))) }) })
		}},
		{"plugin-memory", "a host reads as much memory as there can be 2,000 times", false, with(long, func(h *host) {
			together(2000, func(int) { h.call("ReadMemory", read(1<<31)) })
		})},
		{"plugin-memory-most", "a host reads 1 MiB 2,000 times", false, with(long, func(h *host) {
			together(2000, func(int) { h.call("ReadMemory", read(1<<20)) })
		})},
		{"plugin-locate", "a host asks for as many addresses as there can be, 2,000 times", false, with(small, func(h *host) {
			for range 2000 {
				h.call("Locate", append(session1[:2:2], protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), times(4096, 2, 0x10, 0x40, 0, 0, 0, 0, 0))...))
			}
		})},
		{"plugin-paths", "a host opens a core with paths of 4 MB in all, 50 times", false, with(small, func(h *host) {
			request := path(1, "/nowhere")
			for range 1000 {
				request = append(request, path(6, strings.Repeat("/x", 2000))...)
			}
			together(50, func(int) { h.call("Open", request) })
		})},
		{"plugin-junk", "20,000 requests that are no messages, and methods that are not there", true, with(small, func(h *host) {
			methods := []string{"Open", "Process", "Threads", "Stacks", "Modules", "Registers", "ReadMemory", "Locate", "DumpSFrame", "Close", "Waits", "Goroutines", "Nothing"}
			for _, m := range methods {
				methods = append(methods, second+m)
			}
			methods = append(methods, second+"Groups", second+"Evaluate", second+"Capabilities")
			together(20000, func(i int) {
				junk := binary.LittleEndian.AppendUint64(nil, uint64(i)*0x9e3779b97f4a7c15)
				h.call(methods[i%len(methods)], append(junk, junk...))
			})
		})},
		{"plugin-large", "requests of 64 MiB", false, with(small, func(h *host) {
			request := make([]byte, 64<<20)
			together(8, func(int) { h.call("Open", request) })
		})},
		{"plugin-cancel", "100,000 requests that are taken back", false, with(long, func(h *host) {
			for range 100000 {
				ctx, cancel := context.WithCancel(context.Background())
				if s, err := h.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/sfcore.plugin.v1.Plugin/Stacks"); err == nil {
					request := append([]byte{}, session1...)
					_ = s.SendMsg(&request)
				}
				cancel()
			}
		})},
		{"plugin-connections", "10,000 connections, of which each says something else", false, with(small, func(h *host) {
			together(100, func(i int) {
				for j := range 100 {
					if c, err := net.Dial("unix", h.socket); err == nil {
						preface := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\x00\x00\x00\x04\x00\x00\x00\x00\x00", j)
						_, _ = c.Write([]byte(preface[:min(len(preface), i+j)]))
						_, _ = c.Write(times(100*(j%2), byte(i), byte(j), 0xff))
						_ = c.Close()
					}
				}
			})
		})},
		{"plugin-half", "1,000 connections that stop in the middle of a message", false, with(small, func(h *host) {
			var open []net.Conn
			for range 1000 {
				if c, err := net.Dial("unix", h.socket); err == nil {
					// SETTINGS, and HEADERS that say that more of them follow [RFC 9113, 6.2].
					_, _ = c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x40\x00\x01\x00\x00\x00\x00\x01" + strings.Repeat("\x40\x01a\x01b", 1000)))
					open = append(open, c)
				}
			}
			time.Sleep(5 * time.Second)
			for _, c := range open {
				_ = c.Close()
			}
		})},
		{"plugin-limited", "two sessions with a limit of memory, whose stacks nobody reads", false, func(f *folder) []string {
			f.program(walk)
			return f.plugin(process{stack: deep()}, func(h *host) {
				for i := range uint64(2) {
					h.call("Open", path(1, f.in("core")))
					h.start("Stacks", field(nil, 1, i+1))
				}
				time.Sleep(5 * time.Second)
			}, "--max-memory", "256M", "--max-total-time", "10s")
		}},
	}
}
