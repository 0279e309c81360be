package helm_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// cluster plays the parts of a Kubernetes that one job meets: an API that keeps it, in Kubernetes' own types, and a node that starts what its
// pod says.
type cluster struct {
	t *testing.T

	mu     sync.Mutex
	job    *batch.Job
	secret *core.Secret
	pod    *core.Pod
	log    bytes.Buffer // as a kubelet sends it, each line with its time
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer letmein" {
		c.t.Errorf("somebody without a token asks for %s", r.URL)
	}
	var answer any
	switch path := strings.TrimPrefix(r.URL.Path, "/apis/batch/v1/namespaces/agents/"); {
	case r.Method == http.MethodPost:
		body, _ := io.ReadAll(r.Body)
		object, _, err := strict.Decode(body, nil, nil)
		if err != nil {
			c.t.Errorf("%s: %v\n%s", path, err, body)
		}
		switch o := object.(type) {
		case *batch.Job:
			o.UID, c.job = types.UID("uid-of-the-job"), o
		case *core.Secret:
			c.secret = o
		}
		answer = object
		w.WriteHeader(http.StatusCreated)
	case path == "jobs":
		list := batch.JobList{}
		if c.job != nil {
			list.Items = append(list.Items, *c.job)
		}
		answer = list
	case strings.HasSuffix(path, "/log"):
		_, _ = w.Write(c.log.Bytes())
		return
	case strings.HasSuffix(path, "/pods") && r.URL.Query().Get("watch") == "":
		list := core.PodList{}
		if c.pod != nil {
			list.Items = append(list.Items, *c.pod)
		}
		answer = list
	default:
		answer = core.EventList{}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// start does what a scheduler and a kubelet would.
func (c *cluster) start() {
	c.mu.Lock()
	template, secret := c.job.Spec.Template.DeepCopy(), c.secret
	c.mu.Unlock()
	ended, log := runPod(c.t, template, secret)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log.Write(log)
	c.pod = &core.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	c.pod.Name, c.pod.UID = c.job.Name+"-x", "uid-of-the-pod"
	c.pod.Spec.NodeName = "n1"
	c.pod.Status = core.PodStatus{Phase: core.PodFailed, ContainerStatuses: []core.ContainerStatus{{Name: "agent", State: core.ContainerState{Terminated: ended}}}}
}

// runPod starts the containers of a pod as they are written. log has the lines of the last one as a kubelet sends them, each with its time.
func runPod(t *testing.T, template *core.PodTemplateSpec, secret *core.Secret) (ended *core.ContainerStateTerminated, log []byte) {
	found := map[string]runtime.Object{}
	if secret != nil {
		found["Secret/"+secret.Name] = secret
	}
	n := newNode(t, found)
	message := filepath.Join(n.dir, "message")
	if err := os.WriteFile(message, nil, 0o600); err != nil {
		t.Error(err)
	}
	for i, container := range append(template.Spec.InitContainers, template.Spec.Containers...) {
		n.mount(template, container)
		n.paths = append(n.paths, "/dev/termination-log", message)
		for i, word := range container.Command {
			container.Command[i] = strings.ReplaceAll(word, "$$", "$") // as the kubelet reads it
		}
		cmd := n.command(container, nil)
		cmd.Env = append(cmd.Env, "PLIMSOLL_TERMINATION_LOG="+message)
		cmd.Dir = strings.NewReplacer(n.paths...).Replace(container.WorkingDir)
		started := meta.Now()
		out, err := cmd.CombinedOutput()
		if i < len(template.Spec.InitContainers) {
			if err != nil {
				t.Errorf("container %s: %v: %s", container.Name, err, out)
			}
			continue
		}
		said, _ := os.ReadFile(message)
		ended = &core.ContainerStateTerminated{
			ExitCode: int32(cmd.ProcessState.ExitCode()), Reason: "Error", Message: string(said), StartedAt: started, FinishedAt: meta.Now(),
		}
		for line := range strings.Lines(string(out)) {
			log = fmt.Appendf(log, "%s %s", time.Now().UTC().Format(time.RFC3339Nano), line)
		}
	}
	return ended, log
}

// What plimsoll submits is what Kubernetes' own types and the restricted profile take; started as it is written, it runs the command with its
// words, its variables and its directory, and what comes back is its output, its status and its report.
func TestSubmittedJobRunsAsWritten(t *testing.T) {
	c := &cluster{t: t}
	server := httptest.NewTLSServer(c)
	defer server.Close()
	dir, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("in the archive\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Written by Kubernetes' own client, with what its own client takes of it.
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{Server: server.URL, CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	config.AuthInfos["me"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: "sh", InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		Args: []string{"-c", `echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "letmein"}}'`},
	}}
	config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "me", Namespace: "agents"}
	config.CurrentContext = "lab"
	kubeconfig := filepath.Join(home, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	program := func(args ...string) *exec.Cmd {
		cmd := exec.Command(plimsoll, args...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + kubeconfig, "PLIMSOLL_STATE_DIR=" + home, "PLIMSOLL_SUBMIT_PLIMSOLL_IMAGE=plimsoll:1", "KEY=hunter2"}
		return cmd
	}
	script := `echo "$KEY in $(pwd): $(cat notes.txt) $1"; exit 7`
	cmd := program("submit", "--on", "kubernetes", "--wait", "--name", "once", "--image", "agent:1", "--work", "archive", "--env", "KEY", "--time-max", "5m",
		"--memory-max", "300M", "--", "sh", "-c", script, "sh", "$(HOME) $$ 'x'")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c.mu.Lock()
		there := c.job != nil && c.secret != nil
		c.mu.Unlock()
		if there {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("%v: %s", err, said.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing was submitted: %s", said.String())
		}
	}
	c.start()
	<-ended
	if cmd.ProcessState.ExitCode() != 7 || !strings.Contains(out.String(), "hunter2 in ") || !strings.HasSuffix(out.String(), "/work: in the archive $(HOME) $$ 'x'\n") {
		t.Errorf("%v: %q, and said %s", cmd.ProcessState, out.String(), said.String())
	}
	shown, err := program("runs", "--json").Output()
	if err != nil || !strings.Contains(string(shown), `"once"`) {
		t.Errorf("plimsoll runs: %v: %s", err, shown)
	}

	// The guide's own lines are taken.
	for _, block := range blocks(t, "text") {
		for line := range strings.Lines(block) {
			if rest, ok := strings.CutPrefix(line, "plimsoll submit "); ok {
				dry := program()
				dry.Path, dry.Args = "/bin/sh", []string{"sh", "-c", `"$0" submit --dry-run --on kubernetes --image agent:1 ` + rest, plimsoll}
				dry.Env = append(dry.Env, "ANTHROPIC_API_KEY=x")
				if out, err := dry.CombinedOutput(); err != nil || !strings.Contains(string(out), "in namespace agents of context lab") {
					t.Errorf("%s: %v: %s", line, err, out)
				}
			}
		}
	}

	checks, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range checks.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &c.job.Spec.Template.ObjectMeta, &c.job.Spec.Template.Spec) {
		if !r.Allowed {
			t.Errorf("%s %s", r.ForbiddenReason, r.ForbiddenDetail)
		}
	}
	if pod := c.job.Spec.Template.Spec; *pod.AutomountServiceAccountToken || pod.RestartPolicy != core.RestartPolicyNever || *c.job.Spec.BackoffLimit != 0 {
		t.Errorf("%+v", pod)
	}
	if text, _ := json.Marshal(c.job); bytes.Contains(text, []byte("hunter2")) || string(c.secret.Data["KEY"]) != "hunter2" || c.secret.OwnerReferences[0].UID != c.job.UID {
		t.Errorf("a variable's value stands in %s, or not in %v", text, c.secret.OwnerReferences)
	}
}
