package crash

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sfcore/sfcore/internal/crash/store"
)

// The directories in which the kubelet names the containers and the pods of a machine by
// their ids: links POD_NAMESPACE_CONTAINER-ID.log, and directories NAMESPACE_POD_ID
// [kubernetes pkg/kubelet/kuberuntime]. They belong to root, and listing them costs less
// than a question to the container runtime, which may not answer.
const (
	containerLogs = "/var/log/containers"
	podLogs       = "/var/log/pods"
)

// maxLogs bounds how many entries of such a directory are looked at.
const maxLogs = 20000

// addNames adds the names that the kubelet gave the pod and the container, below a root
// directory. Other container runtimes tell names only to who asks them, so that a
// container of Docker or Podman has an id only: "docker inspect ID" names it.
func addNames(p *store.Place, root string) {
	if p.Container != "" && p.Pod != "" {
		_ = eachEntry(filepath.Join(root, containerLogs), func(entry string) bool {
			names, ok := strings.CutSuffix(entry, "-"+p.Container+".log")
			f := strings.Split(names, "_")
			if ok = ok && len(f) == 3 && isName(f[0]) && isName(f[1]) && isName(f[2]); ok {
				p.PodName, p.Namespace, p.ContainerName = f[0], f[1], f[2]
			}
			return ok
		})
	}
	if p.Pod != "" && p.PodName == "" {
		_ = eachEntry(filepath.Join(root, podLogs), func(entry string) bool {
			names, ok := strings.CutSuffix(entry, "_"+p.Pod)
			f := strings.Split(names, "_")
			if ok = ok && len(f) == 2 && isName(f[0]) && isName(f[1]); ok {
				p.Namespace, p.PodName = f[0], f[1]
			}
			return ok
		})
	}
}

// eachEntry calls found with the names in a directory until it returns true.
func eachEntry(dir string, found func(string) bool) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	for seen := 0; seen < maxLogs; {
		names, err := d.Readdirnames(512)
		for _, name := range names {
			if found(name) {
				return nil
			}
		}
		seen += len(names)
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// isName reports whether a name may be one of Kubernetes [RFC 1123 subdomains].
func isName(s string) bool {
	return s != "" && len(s) <= 253 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789.-") == ""
}
