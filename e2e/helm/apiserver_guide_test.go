package helm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// The guide's commands of kubectl and helm work as they stand, in their order, on a real kube-apiserver (one started here, with the command helm and
// any kubectl). What needs a node (helm test, a pod's status) does not run. A certificate that Helm made outlives an upgrade.
func TestAPIServerTakesTheGuidesCommands(t *testing.T) {
	bin, helm := os.Getenv("PLIMSOLL_E2E_APISERVER_BIN"), os.Getenv("PLIMSOLL_E2E_HELM")
	kubectl, err := exec.LookPath("kubectl")
	if bin == "" || helm == "" || err != nil {
		t.Skip("it takes PLIMSOLL_E2E_APISERVER_BIN, PLIMSOLL_E2E_HELM and kubectl in PATH: go -C e2e/apiserver doc")
	}
	address, token := startAPIServer(t, bin)
	define(t, &rest.Config{Host: address, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("kubeconfig", fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: test, user: {token: %q}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
current-context: test
`, address, token))
	found, _ := objects(t, try(t, "self-contained.yaml", needed["self-contained.yaml"]))
	made := found["Secret/plimsoll-tls"].(*core.Secret).Data
	write("tls.crt", string(made["tls.crt"]))
	write("tls.key", string(made["tls.key"]))
	here, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(here, "deploy"), filepath.Join(dir, "deploy")); err != nil {
		t.Fatal(err)
	}
	programs := filepath.Join(dir, "bin")
	if err := os.Mkdir(programs, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"helm": helm, "kubectl": kubectl} {
		if err := os.Symlink(path, filepath.Join(programs, name)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(line string) string {
		t.Helper()
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + dir, "PATH=" + programs + ":" + os.Getenv("PATH"), "KUBECONFIG=" + filepath.Join(dir, "kubeconfig")}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		return string(out)
	}
	ran := 0
	for _, block := range blocks(t, "text") {
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			program, _, _ := strings.Cut(line, " ")
			if program != "helm" && program != "kubectl" || strings.HasPrefix(line, "helm test") {
				continue
			}
			if strings.HasPrefix(line, "helm install") && strings.Contains(run("helm list -A -q"), "limits") {
				run("helm uninstall -n agents limits") // the guide shows it in two ways
			}
			run(line)
			ran++
		}
	}
	if ran < 6 {
		t.Errorf("only %d commands ran", ran)
	}
	const certificate = "kubectl -n agents get secret limits-plimsoll-tls -o jsonpath={.data}"
	before := run(certificate)
	run("helm upgrade -n agents -f deploy/helm/examples/self-contained.yaml --set token.value=0123456789abcdef --set serve.port=4700 limits deploy/helm/plimsoll")
	if after := run(certificate); after != before || !strings.Contains(before, "tls.key") {
		t.Errorf("the certificate changed with an upgrade: %.80s, %.80s", before, after)
	}
	run("helm uninstall -n agents limits")
	if left := run("kubectl -n agents get statefulset,deployment,service,configmap,networkpolicy -l app.kubernetes.io/instance=limits -o name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}
