// Package deploy tests the chart and the compose file: rendered and linted by Helm's own module,
// decoded strictly into Kubernetes' types, and with flags that the programs have.
package deploy

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const chartDir = "../../deploy/helm"

// variants are values that change what is rendered.
var variants = map[string]string{
	"default": "",
	"watch":   "agent: {mode: watch, removeCores: true, coresTo: 'https://s3.example.org/cores/'}",
	"all":     "queue: {ca: true, copies: 3}\nserve: {submit: true}\nworker: {debuginfod: 'https://debuginfod.example.org'}\nagent: {privacy: addresses}",
	"little":  "agent: {enabled: false}\nserve: {enabled: false}",
}

// render renders the chart, and returns its documents.
func render(t *testing.T, text string) (documents []string, err error) {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	chart, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := util.ToRenderValues(chart, values, common.ReleaseOptions{Name: "fleet", Namespace: "crashes"}, common.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Engine{Strict: true}.RenderWithContext(t.Context(), chart, all)
	for name, text := range files {
		for one := range strings.SplitSeq(text, "\n---\n") {
			if strings.HasSuffix(name, ".yaml") && strings.TrimSpace(one) != "" {
				documents = append(documents, one)
			}
		}
	}
	return documents, err
}

// decode decodes a document strictly, and returns the pods that it makes.
func decode(t *testing.T, text string) (kind string, pod *core.PodTemplateSpec) {
	t.Helper()
	var head struct{ Kind string }
	if err := yaml.Unmarshal([]byte(text), &head); err != nil {
		t.Fatal(err)
	}
	var to any
	switch head.Kind {
	case "DaemonSet":
		d := new(apps.DaemonSet)
		to, pod = d, &d.Spec.Template
	case "Deployment":
		d := new(apps.Deployment)
		to, pod = d, &d.Spec.Template
	case "Service":
		to = new(core.Service)
	default:
		t.Fatalf("nobody expects kind %q: %s", head.Kind, text)
	}
	if err := yaml.UnmarshalStrict([]byte(text), to); err != nil {
		t.Errorf("%v: %s", err, text)
	}
	return head.Kind, pod
}

// programs builds the programs that the pods run.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, build := range []struct{ in, what string }{{"../..", "."}, {"../../../..", "./cmd/sfcore-crash"}} {
		cmd := exec.Command("go", "build", "-o", dir+"/", build.what)
		cmd.Dir, cmd.Env = build.in, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

// known checks that a program knows a command with its flags.
func known(t *testing.T, dir, program string, args []string) {
	t.Helper()
	name, ok := strings.CutPrefix(program, "/usr/bin/")
	if !ok {
		t.Errorf("%s is in no image", program)
		return
	}
	cmd := exec.Command(filepath.Join(dir, name), append(slices.Clone(args), "--help")...)
	cmd.Env = []string{"HOME=/nonexistent"}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("Usage:")) {
		t.Errorf("%s %v: %v: %s", program, args, err, out)
	}
}

func TestChart(t *testing.T) {
	bin := programs(t)
	for name, values := range variants {
		t.Run(name, func(t *testing.T) {
			documents, err := render(t, values)
			if err != nil {
				t.Fatal(err)
			}
			kinds := map[string]int{}
			for _, text := range documents {
				kind, pod := decode(t, text)
				kinds[kind]++
				if pod == nil {
					continue
				}
				volumes := map[string]bool{}
				for _, v := range pod.Spec.Volumes {
					volumes[v.Name] = true
				}
				for _, c := range pod.Spec.Containers {
					known(t, bin, c.Command[0], c.Args)
					for _, m := range c.VolumeMounts {
						if !volumes[m.Name] {
							t.Errorf("%s: there is no volume %s", c.Name, m.Name)
						}
					}
					if s := c.SecurityContext; s == nil || s.Privileged != nil || s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) {
						t.Errorf("%s has more rights than it needs: %+v", c.Name, s)
					}
				}
				if pod.Spec.HostPID || pod.Spec.HostNetwork {
					t.Errorf("%s is in the namespaces of its node", kind)
				}
			}
			want := map[string]int{"DaemonSet": 1, "Deployment": 2, "Service": 1}
			if name == "little" {
				want = map[string]int{"Deployment": 1}
			}
			if fmt.Sprint(kinds) != fmt.Sprint(want) {
				t.Errorf("got %v, want %v", kinds, want)
			}
			v := map[string]any{}
			if err := yaml.Unmarshal([]byte(values), &v); err != nil {
				t.Fatal(err)
			}
			for _, m := range lint.RunAll(chartDir, v, "crashes").Messages {
				if m.Severity >= support.WarningSev {
					t.Error(m)
				}
			}
		})
	}
	if _, err := render(t, "agent: {mode: install}"); err == nil || !strings.Contains(err.Error(), "store and watch are") {
		t.Errorf("a mode that is not known: got %v", err)
	}
}

func TestCompose(t *testing.T) {
	text, err := os.ReadFile("../../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Entrypoint, Command []string
			Volumes             []string
		}
		Volumes map[string]any
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	fleet := file.Services["fleet"]
	if len(fleet.Entrypoint) != 1 {
		t.Fatalf("got %+v", fleet)
	}
	known(t, programs(t), fleet.Entrypoint[0], fleet.Command)
	for name, s := range file.Services {
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if _, ok := file.Volumes[from]; !ok && !strings.ContainsAny(from[:1], "./") {
				t.Errorf("%s: there is no volume %s", name, from)
			}
		}
	}
}
