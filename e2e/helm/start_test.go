package helm_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

// A node is where the containers of these tests run: the paths of their volumes lie below its folder, and what a Secret or a ConfigMap of
// the release holds is there.
type node struct {
	t     *testing.T
	dir   string
	found map[string]runtime.Object
	paths []string // of the containers, and where they are here, for a replacer
}

func newNode(t *testing.T, found map[string]runtime.Object) *node {
	return &node{t: t, dir: t.TempDir(), found: found}
}

// mount makes the folders of a container's volumes.
func (n *node) mount(pod *core.PodTemplateSpec, c core.Container) {
	n.t.Helper()
	write := func(dir, name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			n.t.Fatal(err)
		}
	}
	n.paths = nil
	for _, m := range c.VolumeMounts {
		here := filepath.Join(n.dir, m.Name, m.SubPath)
		if err := os.MkdirAll(here, 0o755); err != nil {
			n.t.Fatal(err)
		}
		n.paths = append(n.paths, m.MountPath, here)
		for _, v := range pod.Spec.Volumes {
			switch {
			case v.Name != m.Name:
			case v.Secret != nil:
				for name, value := range n.found["Secret/"+v.Secret.SecretName].(*core.Secret).Data {
					write(here, name, value)
				}
			case v.ConfigMap != nil:
				for name, value := range n.found["ConfigMap/"+v.ConfigMap.Name].(*core.ConfigMap).Data {
					write(here, name, []byte(value))
				}
			}
		}
	}
}

// command is what a container starts, with its environment and nothing else of ours. change sees each variable.
func (n *node) command(c core.Container, change func(name, value string) string) *exec.Cmd {
	n.t.Helper()
	here := strings.NewReplacer(n.paths...).Replace
	var env []string
	for _, e := range c.Env {
		value := e.Value
		if from := e.ValueFrom; from != nil {
			switch {
			case from.SecretKeyRef != nil:
				secret, ok := n.found["Secret/"+from.SecretKeyRef.Name].(*core.Secret)
				if !ok {
					n.t.Fatalf("%s wants the Secret %s", e.Name, from.SecretKeyRef.Name)
				}
				value = string(secret.Data[from.SecretKeyRef.Key])
			case from.ResourceFieldRef != nil && from.ResourceFieldRef.Resource == "requests.memory":
				value = fmt.Sprint(c.Resources.Requests.Memory().Value()) // as the kubelet: with the divisor 1
			default:
				n.t.Fatalf("%s comes from %v", e.Name, from)
			}
		}
		for _, earlier := range env { // as the kubelet expands $(NAME)
			name, v, _ := strings.Cut(earlier, "=")
			value = strings.ReplaceAll(value, "$("+name+")", v)
		}
		value = here(value)
		if change != nil {
			value = change(e.Name, value)
		}
		env = append(env, e.Name+"="+value)
	}
	argv := slices.Clone(c.Command)
	for i := range argv {
		argv[i] = here(argv[i])
	}
	if argv[0] == "/plimsoll" { // of Plimsoll's own image
		argv[0] = plimsoll
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"))
	return cmd
}

// The daemon starts by the command, the variables, the Secrets and the configuration of its pod, answers the pod's probes and the pod of helm
// test, lets in whoever has the token, and ends in order.
func TestTheDaemonStartsAsRendered(t *testing.T) {
	values := try(t, "self-contained.yaml", needed["self-contained.yaml"])
	values["serve"].(map[string]any)["config"] = "[window]\nmode = \"observe\"\n[agents.helper]\nmodel = \"standin\"\n"
	found, _ := objects(t, values)
	set := found["StatefulSet/plimsoll"].(*apps.StatefulSet)
	pod := set.Spec.Template
	n := newNode(t, found)
	n.mount(&pod, pod.Spec.Containers[0])
	port := freePort(t)
	cmd := n.command(pod.Spec.Containers[0], func(name, value string) string {
		return strings.ReplaceAll(value, "0.0.0.0:4620", "0.0.0.0:"+port)
	})
	var said bytes.Buffer
	cmd.Stderr, cmd.Stdout = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	tlsSecret := found["Secret/plimsoll-tls"].(*core.Secret)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(tlsSecret.Data["ca.crt"]) {
		t.Fatal("no certificate in ca.crt")
	}
	// As Prometheus and other clients see it: by the name of the Service.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "plimsoll." + namespace + ".svc"}}}
	probes := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // a kubelet checks no certificate
	get := func(c *http.Client, path, host, token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1:"+port+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			r.Host = host
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := c.Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	for _, probe := range []*core.Probe{pod.Spec.Containers[0].StartupProbe, pod.Spec.Containers[0].ReadinessProbe, pod.Spec.Containers[0].LivenessProbe} {
		if probe.HTTPGet.Scheme != core.URISchemeHTTPS || probe.HTTPGet.Port.StrVal != pod.Spec.Containers[0].Ports[0].Name {
			t.Errorf("the probe asks %v", probe.HTTPGet)
		}
		for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			status, text := get(probes, probe.HTTPGet.Path, "10.0.0.7:4620", "")
			if status == http.StatusOK {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %d %s\n%s", probe.HTTPGet.Path, status, text, said.String())
			}
		}
	}
	token := string(found["Secret/plimsoll-token"].(*core.Secret).Data["token"])
	for _, c := range []struct {
		host, token string
		status      int
	}{
		{"plimsoll." + namespace + ".svc:4620", token, http.StatusOK},
		{"plimsoll:4620", token, http.StatusOK},
		{"plimsoll." + namespace + ".svc:4620", "", http.StatusUnauthorized},
		{"evil.example.com", token, http.StatusMisdirectedRequest},
	} {
		if status, text := get(client, "/metrics", c.host, c.token); status != c.status {
			t.Errorf("as %s with the token %q: %d, want %d: %.200s", c.host, c.token, status, c.status, text)
		}
	}
	test := found["Pod/plimsoll-test"].(*core.Pod).Spec.Containers[0]
	health := newNode(t, found)
	health.paths = []string{"https://plimsoll:4620", "https://127.0.0.1:" + port}
	if out, err := health.command(test, nil).CombinedOutput(); err != nil || string(out) != "ready\n" {
		t.Errorf("helm test: %v: %s", err, out)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v: %s", err, said.String())
	}
	if strings.Contains(said.String(), token) {
		t.Error("the token is in the log")
	}
}

// The init container copies the program, and the agent's container starts its command by it, within the container's requests.
func TestInitCopyRunsAsRendered(t *testing.T) {
	values := try(t, "self-contained.yaml", needed["self-contained.yaml"])
	values["agents"].([]any)[0].(map[string]any)["command"] = []any{"sh", "-c", `echo "in $HOME"; exit 7`}
	found, _ := objects(t, values)
	pod := podOf(found["Job/plimsoll-once"])
	n := newNode(t, found)
	n.mount(pod, pod.Spec.InitContainers[0])
	if out, err := n.command(pod.Spec.InitContainers[0], nil).CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != filepath.Join(n.dir, "plimsoll-bin", "plimsoll") {
		t.Fatalf("the init container: %v: %s", err, out)
	}
	n.mount(pod, pod.Spec.Containers[0])
	cmd := n.command(pod.Spec.Containers[0], nil)
	if !slices.Contains(cmd.Env, "PLIMSOLL_RESOURCES_RESERVATION="+fmt.Sprint(128<<20)) || !slices.Contains(cmd.Env, "PLIMSOLL_RESOURCES_MIN_FREE=0") {
		t.Errorf("its variables are %q", cmd.Env)
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 7 || !strings.Contains(string(out), "in "+filepath.Join(n.dir, "home")+"\n") {
		t.Errorf("the agent: %v: %s", err, out)
	}
	// It was a run of Plimsoll's, with its history below the agent's home.
	show := exec.Command(plimsoll, "stats", "--json")
	show.Env = cmd.Env
	if out, err := show.Output(); err != nil || !strings.Contains(string(out), `"tool": "sh"`) {
		t.Errorf("its history: %v: %s", err, out)
	}
}

// The sidecar answers its probes, and the agent's address of its model provider leads through it with its token.
func TestSidecarStartsAsRendered(t *testing.T) {
	values := try(t, "agents.yaml", nil)
	values["token"] = map[string]any{"value": "0123456789abcdef0123456789abcdef"}
	found, _ := objects(t, values)
	pod := podOf(found["Deployment/plimsoll-chat"])
	sidecar, agent := pod.Spec.InitContainers[0], pod.Spec.Containers[0]
	if sidecar.RestartPolicy == nil || *sidecar.RestartPolicy != core.ContainerRestartPolicyAlways {
		t.Fatal("it is no sidecar")
	}
	provider := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"object":"list","data":[],"path":"`+r.URL.Path+`"}`)
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go provider.Serve(l)
	defer provider.Close()
	port := freePort(t)
	n := newNode(t, found)
	n.mount(pod, sidecar)
	here := func(_, value string) string { return strings.ReplaceAll(value, "127.0.0.1:4620", "127.0.0.1:"+port) }
	cmd := n.command(sidecar, here)
	cmd.Env = append(cmd.Env, "PLIMSOLL_UPSTREAM_OPENAI=http://"+l.Addr().String()+"/v1", "PLIMSOLL_CONFIG="+os.DevNull)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	for _, probe := range []*core.Probe{sidecar.StartupProbe, sidecar.LivenessProbe} {
		ask := sidecar
		ask.Command = probe.Exec.Command
		for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			out, err := n.command(ask, here).CombinedOutput()
			if err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%v: %v: %s\n%s", probe.Exec.Command, err, out, said.String())
			}
		}
	}
	var base string
	for _, kv := range n.command(agent, here).Env {
		if v, ok := strings.CutPrefix(kv, "OPENAI_BASE_URL="); ok {
			base = v
		}
	}
	answer, err := http.Get(base + "/models")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK || !strings.Contains(string(text), `"path":"/v1/models"`) {
		t.Errorf("%s answers %d %s", base, answer.StatusCode, text)
	}
}

// What plimsoll stats says for Kubernetes goes into a container as it is.
func TestStatsAreTakenAsResources(t *testing.T) {
	stats := exec.Command(plimsoll, "stats", "reviewer", "--format", "k8s")
	stats.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PLIMSOLL_CONFIG=" + os.DevNull, "PLIMSOLL_STATE_DIR=" + t.TempDir()}
	text, err := stats.Output()
	if err != nil {
		t.Fatal(err)
	}
	said := decodeYAML(t, string(text))
	values := try(t, "agents.yaml", nil)
	values["agents"].([]any)[0].(map[string]any)["resources"] = said["resources"]
	found, _ := objects(t, values)
	got := podOf(found["Deployment/plimsoll-reviewer"]).Spec.Containers[0].Resources
	want := said["resources"].(map[string]any)["requests"].(map[string]any)["memory"].(string)
	if got.Requests.Memory().Cmp(resource.MustParse(want)) != 0 {
		t.Errorf("requests %s, want %s of %s", got.Requests.Memory(), want, text)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
