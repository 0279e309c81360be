package helm_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// controllers are those that a Job meets.
const controllers = "job-controller,garbage-collector-controller,node-lifecycle-controller,ttl-after-finished-controller,resourcequota-controller"

// becomes waits until something holds on the cluster.
func becomes(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not come: %s", what)
		}
	}
}

// A submitted Job meets the real kube-apiserver, scheduler and controller manager; the node is an object that this test keeps ready, and the test
// starts what its pod says and writes the pod's status, as a kubelet does.
func TestAPIServerPlacesASubmittedJob(t *testing.T) {
	bin := os.Getenv("PLIMSOLL_E2E_APISERVER_BIN")
	for _, name := range []string{"kube-scheduler", "kube-controller-manager"} {
		if _, err := os.Stat(filepath.Join(bin, name)); bin == "" || err != nil {
			t.Skip("PLIMSOLL_E2E_APISERVER_BIN names no folder with etcd, kube-apiserver, kube-scheduler and kube-controller-manager: go -C e2e/apiserver doc")
		}
	}
	address, token := startAPIServer(t, bin)
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	text := fmt.Sprintf(`{clusters: [{name: test, cluster: {server: %q, insecure-skip-tls-verify: true}}], users: [{name: test, user: {token: %q}}],
contexts: [{name: test, context: {cluster: test, user: test, namespace: agents}}], current-context: test}`, address, token)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	launch(t, bin, dir, "kube-scheduler", "--kubeconfig", kubeconfig, "--leader-elect=false", "--secure-port", "0")
	launch(t, bin, dir, "kube-controller-manager", "--kubeconfig", kubeconfig, "--leader-elect=false", "--secure-port", "0", "--controllers", controllers)
	clients, err := kubernetes.NewForConfig(&rest.Config{Host: address, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = clients.CoreV1().Namespaces().Create(t.Context(), &core.Namespace{ObjectMeta: meta.ObjectMeta{
		Name: "agents", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	program := func(state string, more ...string) func(args ...string) *exec.Cmd {
		return func(args ...string) *exec.Cmd {
			cmd := exec.Command(plimsoll, args...)
			cmd.Dir = dir
			cmd.Env = append([]string{
				"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + kubeconfig, "PLIMSOLL_STATE_DIR=" + filepath.Join(dir, state),
				"PLIMSOLL_SUBMIT_PLIMSOLL_IMAGE=plimsoll:1", "PLIMSOLL_SUBMIT_IMAGE=agent:1", "KEY=hunter2",
			}, more...)
			return cmd
		}
	}
	mine := program("mine")
	says := func(name, words string) {
		t.Helper()
		becomes(t, words, func() bool {
			out, _ := mine("runs", name, "--json").CombinedOutput()
			return strings.Contains(string(out), words)
		})
	}

	// Without a node it waits, by the scheduler's word.
	cmd := mine("submit", "--on", "kubernetes", "--wait", "--name", "once", "--env", "KEY", "--", "sh", "-c", `echo "$KEY"; exit 7`)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	says("once", "Unschedulable")

	// A node comes; its kubelet has the log.
	var log atomic.Value
	log.Store([]byte{})
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(log.Load().([]byte)) }))
	defer kubelet.Close()
	at, _ := url.Parse(kubelet.URL)
	port, _ := strconv.Atoi(at.Port())
	nodes := clients.CoreV1().Nodes()
	if _, err := nodes.Create(t.Context(), &core.Node{ObjectMeta: meta.ObjectMeta{Name: "n1"}}, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	beat := func() {
		node, err := nodes.Get(t.Context(), "n1", meta.GetOptions{})
		if err != nil {
			return
		}
		has := core.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("10")}
		node.Status.Capacity, node.Status.Allocatable = has, has
		node.Status.Addresses = []core.NodeAddress{{Type: core.NodeInternalIP, Address: "127.0.0.1"}}
		node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
		node.Status.Conditions = []core.NodeCondition{{Type: core.NodeReady, Status: core.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: meta.Now(), LastTransitionTime: meta.Now()}}
		_, _ = nodes.UpdateStatus(t.Context(), node, meta.UpdateOptions{})
	}
	pods := clients.CoreV1().Pods("agents")
	pod := func(job string) *core.Pod {
		list, err := pods.List(t.Context(), meta.ListOptions{LabelSelector: "plimsoll.dev/job=" + job})
		if err != nil || len(list.Items) == 0 {
			return nil
		}
		return &list.Items[0]
	}
	becomes(t, "the pod is on the node", func() bool { beat(); p := pod("once"); return p != nil && p.Spec.NodeName == "n1" })
	p := pod("once")
	set := func(phase core.PodPhase, state core.ContainerState) {
		t.Helper()
		p.Status.Phase, p.Status.ContainerStatuses = phase, []core.ContainerStatus{{Name: "agent", State: state}}
		var err error
		if p, err = pods.UpdateStatus(t.Context(), p, meta.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	set(core.PodRunning, core.ContainerState{Running: &core.ContainerStateRunning{StartedAt: meta.Now()}})
	says("once", "n1")
	secret, err := clients.CoreV1().Secrets("agents").Get(t.Context(), "once", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	terminated, lines := runPod(t, &core.PodTemplateSpec{ObjectMeta: p.ObjectMeta, Spec: *p.Spec.DeepCopy()}, secret)
	log.Store(lines)
	set(core.PodFailed, core.ContainerState{Terminated: terminated})
	<-ended
	if cmd.ProcessState.ExitCode() != 7 || out.String() != "hunter2\n" {
		t.Errorf("%v: %q, and said %s", cmd.ProcessState, out.String(), said.String())
	}
	becomes(t, "the Job has failed, and is not tried again", func() bool {
		j, err := clients.BatchV1().Jobs("agents").Get(t.Context(), "once", meta.GetOptions{})
		return err == nil && j.Status.Failed == 1 && j.Status.Active == 0
	})

	// A second one of the name is refused, whoever submits it.
	again, err := program("theirs")("submit", "--on", "kubernetes", "--name", "once", "--", "true").CombinedOutput()
	if err == nil || !strings.Contains(string(again), "a job is submitted once") {
		t.Errorf("%v: %s", err, again)
	}

	// One that fits no node waits; cancelled it is gone, with its pod and its Secret.
	large := program("mine", "PLIMSOLL_RESOURCES_RESERVATION=100G")
	if out, err := large("submit", "--on", "kubernetes", "--name", "large", "--env", "KEY", "--", "true").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	says("large", "Insufficient memory")
	if out, err := mine("cancel", "large").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	becomes(t, "nothing of it is left", func() bool {
		beat()
		_, err := clients.CoreV1().Secrets("agents").Get(t.Context(), "large", meta.GetOptions{})
		return pod("large") == nil && apierrors.IsNotFound(err)
	})
	says("large", "CANCELLED")
}
