package crash

import (
	"testing"

	"github.com/sfcore/sfcore/internal/crash/store"
)

const (
	containerID = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	otherID     = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
	podUID      = "6f3c2a1e-8d7b-4c5a-9e0f-112233445566"
	slicePodUID = "6f3c2a1e_8d7b_4c5a_9e0f_112233445566"
	staticPod   = "0cbf27d49f8ba3ac9ed9a10ae8ea5a1c"
)

// The paths are those that the runtimes make, on cgroup versions 1 and 2, with systemd
// and with cgroupfs as their driver.
func TestPlaceOf(t *testing.T) {
	const id, pod = containerID, podUID
	user := "/user.slice/user-1000.slice/user@1000.service"
	burstable := "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + slicePodUID + ".slice"
	for _, tt := range []struct {
		name, cgroup string
		want         store.Place
	}{
		{"none", "0::/\n", store.Place{}},
		{"nothing", "", store.Place{}},
		{"damaged", "0:/docker\nx\n", store.Place{}},

		{"a service", "0::/system.slice/nginx.service\n", store.Place{Unit: "nginx.service"}},
		{"an instance", "0::/system.slice/system-getty.slice/getty@tty1.service\n", store.Place{Unit: "getty@tty1.service"}},
		{"a session", "0::/user.slice/user-1000.slice/session-3.scope\n", store.Place{Unit: "session-3.scope"}},
		{"a unit of a user", "0::" + user + "/app.slice/app-org.gnome.Terminal.slice/vte-spawn-1.scope\n", store.Place{Unit: "vte-spawn-1.scope"}},
		{"a user's manager", "0::" + user + "/init.scope\n", store.Place{Unit: "init.scope"}},
		{"systemd, version 1", "9:memory:/system.slice/nginx.service\n1:name=systemd:/system.slice/nginx.service\n0::/system.slice/nginx.service\n", store.Place{Unit: "nginx.service"}},
		{"a unit of a user, version 1", "5:pids:/user.slice/user-1000.slice/user@1000.service\n1:name=systemd:" + user + "/app.slice/a.service\n", store.Place{Unit: "a.service"}},
		{"the same, in another order", "5:name=systemd:" + user + "/app.slice/a.service\n1:pids:/user.slice/user-1000.slice/user@1000.service\n", store.Place{Unit: "a.service"}},
		{"a machine of nspawn", "0::/machine.slice/systemd-nspawn@deb.service/payload\n", store.Place{Unit: "systemd-nspawn@deb.service"}},

		{"docker", "0::/system.slice/docker-" + id + ".scope\n", store.Place{Container: id}},
		{"docker, cgroupfs", "0::/docker/" + id + "\n", store.Place{Container: id}},
		{"docker, version 1", "12:pids:/docker/" + id + "\n1:name=systemd:/docker/" + id + "\n0::/system.slice/containerd.service\n", store.Place{Container: id, Unit: "containerd.service"}},
		{"docker without root", "0::" + user + "/user.slice/docker-" + id + ".scope\n", store.Place{Container: id, Unit: "user@1000.service"}},
		{"docker with systemd inside", "0::/system.slice/docker-" + id + ".scope/system.slice/evil.service\n", store.Place{Container: id}},
		{"a container that ends", "0::/docker/" + id + " (deleted)\n", store.Place{Container: id}},
		{"nerdctl", "0::/system.slice/nerdctl-" + id + ".scope\n", store.Place{Container: id}},
		{"a task of ECS", "0::/ecs/" + staticPod + "/" + id + "\n", store.Place{Container: id}},

		{"podman", "0::/machine.slice/libpod-" + id + ".scope/container\n", store.Place{Container: id}},
		{"podman, version 1", "9:memory:/machine.slice/libpod-" + id + ".scope\n", store.Place{Container: id}},
		{"podman without root", "0::" + user + "/user.slice/libpod-" + id + ".scope/container\n", store.Place{Container: id, Unit: "user@1000.service"}},
		{"podman, cgroupfs", "0::/libpod_parent/libpod-" + id + "\n", store.Place{Container: id}},
		{"podman, a pod", "0::/machine.slice/machine-libpod_pod_" + otherID + ".slice/libpod-" + id + ".scope\n", store.Place{Container: id}},
		{"podman, a pod, cgroupfs", "0::/libpod_parent/" + otherID + "/libpod-" + id + "\n", store.Place{Container: id}},
		{"podman in a unit (Quadlet)", "0::/system.slice/web.service/libpod-payload-" + id + "\n", store.Place{Container: id, Unit: "web.service"}},
		{"podman's monitor", "0::/machine.slice/libpod-conmon-" + id + ".scope\n", store.Place{Unit: "libpod-conmon-" + id + ".scope"}},

		{"containerd", "0::" + burstable + "/cri-containerd-" + id + ".scope\n", store.Place{Container: id, Pod: pod}},
		{"containerd, guaranteed", "0::/kubepods.slice/kubepods-pod" + slicePodUID + ".slice/cri-containerd-" + id + ".scope\n", store.Place{Container: id, Pod: pod}},
		{"containerd, cgroupfs", "0::/kubepods/burstable/pod" + pod + "/" + id + "\n", store.Place{Container: id, Pod: pod}},
		{"containerd, version 1", "11:cpu,cpuacct:/kubepods/besteffort/pod" + pod + "/" + id + "\n1:name=systemd:/kubepods/besteffort/pod" + pod + "/" + id + "\n", store.Place{Container: id, Pod: pod}},
		{"containerd, mixed drivers", "0::/system.slice/containerd.service/kubepods-besteffort-pod" + slicePodUID + ".slice:cri-containerd:" + id + "\n", store.Place{Container: id, Pod: pod, Unit: "containerd.service"}},
		{"a static pod", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + staticPod + ".slice/cri-containerd-" + id + ".scope\n", store.Place{Container: id, Pod: staticPod}},
		{"CRI-O", "0::" + burstable + "/crio-" + id + ".scope/container\n", store.Place{Container: id, Pod: pod}},
		{"CRI-O, cgroupfs", "0::/kubepods/burstable/pod" + pod + "/crio-" + id + "\n", store.Place{Container: id, Pod: pod}},
		{"CRI-O's monitor", "0::" + burstable + "/crio-conmon-" + id + ".scope\n", store.Place{Pod: pod, Unit: "crio-conmon-" + id + ".scope"}},
		{"k3s", "0::/kubepods/burstable/pod" + pod + "/" + id + "\n", store.Place{Container: id, Pod: pod}},
		{"k3s itself", "0::/system.slice/k3s.service\n", store.Place{Unit: "k3s.service"}},
		{"k3s, seen from a cgroup namespace", "0::/../../pod" + pod + "/" + id + "\n", store.Place{Container: id, Pod: pod}},

		// What a container has named is not believed.
		{"kind", "0::/system.slice/docker-" + id + ".scope/kubelet.slice/kubelet-kubepods-pod" + slicePodUID + ".slice/cri-containerd-" + otherID + ".scope\n", store.Place{Container: id}},
		{"a container that claims to be another", "0::/docker/" + id + "/docker-" + otherID + ".scope\n", store.Place{Container: id}},
		{"a pod that claims to be another", "0::/kubepods/pod" + pod + "/" + id + "/pod" + staticPod + "\n", store.Place{Container: id, Pod: pod}},

		{"no container", "0::/docker/" + id[1:] + "\n", store.Place{}},
		{"not hexadecimal", "0::/docker/" + id[1:] + "G\n", store.Place{}},
		{"no pod", "0::/tripod" + pod + "\n", store.Place{}},
	} {
		if got := PlaceOf(tt.cgroup); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
