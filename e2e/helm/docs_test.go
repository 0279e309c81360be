package helm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// kubeVersion is the oldest that the chart is for; a helm that was built without its own build's flags takes 1.20 for it.
const kubeVersion = "1.29.0"

// blocks are the code blocks of the guide whose first line begins so.
func blocks(t *testing.T, info string) []string {
	t.Helper()
	text, err := os.ReadFile(repository + "/docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range regexp.MustCompile("(?ms)^```"+info+"\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		list = append(list, m[1])
	}
	if len(list) == 0 {
		t.Fatalf("the guide has no block %q", info)
	}
	return list
}

// The values in the guide render, and the manifests are what a cluster takes and the restricted profile lets in.
func TestGuidesBlocks(t *testing.T) {
	for _, text := range blocks(t, "yaml values") {
		if found, _ := objects(t, decodeYAML(t, text)); len(found) < 3 {
			t.Errorf("it gives only %d objects: %s", len(found), text)
		}
	}
	checks, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range blocks(t, "yaml manifest") {
		object, _, err := strict.Decode([]byte(text), nil, nil)
		if err != nil {
			t.Errorf("%v in\n%s", err, text)
			continue
		}
		pod := object.(*core.Pod)
		for _, r := range checks.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
			if !r.Allowed {
				t.Errorf("%s: %s", r.ForbiddenReason, r.ForbiddenDetail)
			}
		}
	}
}

// The guide's commands of helm render what they name. What they set by a shell's command is made up here.
func TestGuidesHelmCommands(t *testing.T) {
	ran := 0
	for _, block := range blocks(t, "text") {
		for line := range strings.Lines(block) {
			words := strings.Fields(strings.ReplaceAll(line, "$(openssl rand -hex 32)", "0123456789abcdef0123456789abcdef"))
			if len(words) < 3 || words[0] != "helm" || words[1] != "install" && words[1] != "upgrade" {
				continue
			}
			ran++
			if filepath.Clean(repository+"/"+words[len(words)-1]) != filepath.Clean(chartDir) {
				t.Errorf("%s: there is no chart", line)
			}
			values := map[string]any{}
			for i, w := range words {
				switch w {
				case "-f":
					values = try(t, filepath.Base(words[i+1]), nil)
				case "--set":
					key, value, _ := strings.Cut(words[i+1], "=")
					parts := strings.Split(key, ".")
					values[parts[0]] = map[string]any{parts[1]: value}
				}
			}
			objects(t, values)
			if helm := os.Getenv("PLIMSOLL_E2E_HELM"); helm != "" { // the command itself, without a cluster
				words[1] = "template"
				cmd := exec.Command(helm, append(words[1:], "--kube-version", kubeVersion)...)
				cmd.Dir = repository
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %v: %s", line, err, out)
				}
			}
		}
	}
	if ran < 2 {
		t.Errorf("the guide has %d commands of helm", ran)
	}
}

// The guide shows only commands that somebody looks at here or in the tests of the commands.
func TestGuidesCommandsAreKnown(t *testing.T) {
	known := []string{"helm install", "helm upgrade", "helm test", "kubectl create", "kubectl -n", "$ kubectl", "plimsoll stats", "plimsoll submit", "plimsoll cancel", "plimsoll recommend"}
	for _, block := range blocks(t, "text") {
		for line := range strings.Lines(block) {
			if words := strings.Fields(line); len(words) > 1 && slices.Contains([]string{"helm", "kubectl", "plimsoll", "$"}, words[0]) &&
				!slices.Contains(known, words[0]+" "+words[1]) {
				t.Errorf("nobody tries %q", line)
			}
		}
	}
}

// What the daemon is configured with in the examples is what plimsoll takes.
func TestExamplesConfigurations(t *testing.T) {
	for _, name := range exampleNames(t) {
		serve, _ := try(t, name, nil)["serve"].(map[string]any)
		text, _ := serve["config"].(string)
		if text == "" {
			continue
		}
		file := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		check := exec.Command(plimsoll, "config", "check", file)
		check.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// The command helm says of the chart what its libraries say: PLIMSOLL_E2E_HELM names it, as the nightly gate does.
func TestHelmCommand(t *testing.T) {
	helm := os.Getenv("PLIMSOLL_E2E_HELM")
	if helm == "" {
		t.Skip("PLIMSOLL_E2E_HELM names no helm: go -C e2e/helm build -o FILE helm.sh/helm/v3/cmd/helm")
	}
	run := func(args ...string) (string, error) {
		cmd := exec.Command(helm, args...)
		cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, name := range exampleNames(t) {
		args := []string{"-f", filepath.Join(examples, name)}
		if name == "self-contained.yaml" {
			args = append(args, "--set", "token.value=0123456789abcdef0123456789abcdef")
		}
		if out, err := run(append([]string{"lint", "--strict", chartDir, "--kube-version", kubeVersion}, args...)...); err != nil {
			t.Errorf("lint %s: %v: %s", name, err, out)
		}
		out, err := run(append([]string{"template", "plimsoll", chartDir, "-n", namespace, "--kube-version", kubeVersion}, args...)...)
		if err != nil {
			t.Errorf("template %s: %v: %s", name, err, out)
			continue
		}
		_, texts := objects(t, try(t, name, needed[name]))
		for id, text := range texts {
			if id != "Secret/plimsoll-tls" && !strings.Contains(out, strings.TrimSpace(text)) {
				t.Errorf("%s: the command gives another %s", name, id)
			}
		}
	}
	out, err := run("template", "plimsoll", chartDir, "--kube-version", kubeVersion, "-f", filepath.Join(examples, "serve.yaml"), "--set", "serve.prot=1")
	if err == nil || !strings.Contains(out, "prot") {
		t.Errorf("an unknown value: %v: %s", err, out)
	}
	if out, err := run("package", chartDir, "-d", t.TempDir()); err != nil {
		t.Errorf("package: %v: %s", err, out)
	}
}
