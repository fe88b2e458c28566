package crash

import "testing"

func TestPlaceOf(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	const pod = "6f3c2a1e-8d7b-4c5a-9e0f-112233445566"
	for _, tt := range []struct {
		name, cgroup string
		want         Place
	}{
		{"none", "0::/\n", Place{}},
		{"nothing", "", Place{}},
		{"a service", "0::/system.slice/nginx.service\n", Place{Unit: "nginx.service"}},
		{"a service of a user", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope\n", Place{Unit: "a.scope"}},
		{"docker", "0::/system.slice/docker-" + id + ".scope\n", Place{Container: id}},
		{"docker, version 1", "12:pids:/docker/" + id + "\n1:name=systemd:/docker/" + id + "\n", Place{Container: id}},
		{"containerd in a pod", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod6f3c2a1e_8d7b_4c5a_9e0f_112233445566.slice/cri-containerd-" + id + ".scope\n", Place{Container: id, Pod: pod}},
		{"a pod, cgroupfs", "0::/kubepods/burstable/pod" + pod + "/" + id + "\n", Place{Container: id, Pod: pod}},
		{"with a colon", "0::/kubepods-besteffort-pod" + pod + ".slice:cri-containerd:" + id + "\n", Place{Container: id, Pod: pod}},
		{"no container", "0::/docker/" + id[1:] + "\n", Place{}},
		{"not hexadecimal", "0::/docker/" + id[1:] + "G\n", Place{}},
		{"damaged", "0:/docker\nx\n", Place{}},
	} {
		if got := placeOf(tt.cgroup); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
