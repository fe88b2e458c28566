package crash

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/internal/crash/store"
)

// Names are those that the kubelet gave, and nothing that is no name.
func TestPlaceName(t *testing.T) {
	for _, tt := range []struct {
		name    string
		entries []string
		in      store.Place
		want    [3]string // namespace, pod, container
	}{
		{"a container", []string{containerLogs + "/web-0_shop_nginx-" + containerID + ".log"}, store.Place{Container: containerID, Pod: podUID}, [3]string{"shop", "web-0", "nginx"}},
		{"among others", []string{containerLogs + "/a_b_c-" + otherID + ".log", containerLogs + "/web-0_shop_nginx-" + containerID + ".log"}, store.Place{Container: containerID, Pod: podUID}, [3]string{"shop", "web-0", "nginx"}},
		{"a pod", []string{podLogs + "/shop_web-0_" + podUID}, store.Place{Container: containerID, Pod: podUID}, [3]string{"shop", "web-0", ""}},
		{"a static pod", []string{podLogs + "/kube-system_etcd-node1_" + staticPod}, store.Place{Container: containerID, Pod: staticPod}, [3]string{"kube-system", "etcd-node1", ""}},
		{"another pod", []string{podLogs + "/shop_web-0_" + podUID}, store.Place{Pod: staticPod}, [3]string{}},
		{"no pod", []string{containerLogs + "/web-0_shop_nginx-" + containerID + ".log"}, store.Place{Container: containerID}, [3]string{}},
		{"no names", []string{containerLogs + "/we\nb_shop_nginx-" + containerID + ".log", podLogs + "/shop_W_" + podUID, podLogs + "/_x_" + podUID, podLogs + "/a_b_c_" + podUID}, store.Place{Container: containerID, Pod: podUID}, [3]string{}},
		{"no directories", nil, store.Place{Container: containerID, Pod: podUID}, [3]string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for _, e := range tt.entries {
				if err := os.MkdirAll(filepath.Join(root, e), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			p := tt.in
			addNames(&p, root)
			if got := [3]string{p.Namespace, p.PodName, p.ContainerName}; got != tt.want || p.Container != tt.in.Container || p.Pod != tt.in.Pod {
				t.Errorf("got %+v, want %q", p, tt.want)
			}
		})
	}
}
