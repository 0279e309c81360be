package kubeapi

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// write makes a kubeconfig, which Open finds.
func write(t *testing.T, texts ...string) {
	t.Helper()
	dir := t.TempDir()
	var list []string
	for i, text := range texts {
		path := filepath.Join(dir, string(rune('a'+i)), "config")
		testfile.Write(t, path, text)
		list = append(list, path)
	}
	environment(t, "", strings.Join(list, string(filepath.ListSeparator)), "")
}

// environment sets all variables that count.
func environment(t *testing.T, home, config, host string) {
	t.Helper()
	for name, value := range map[string]string{"HOME": home, "USERPROFILE": home, "KUBECONFIG": config, "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"} {
		t.Setenv(name, value)
	}
}

const plain = `
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: one, user: me, namespace: agents}}, {name: there, context: {cluster: two, user: me}}]
clusters: [{name: one, cluster: {server: "https://one.example:6443/base/"}}]
users: [{name: me, user: {token: first}}]
`

// Of several files the first one to name something counts, a missing one is none, and a file may complete another.
func TestFilesAreMerged(t *testing.T) {
	write(t, plain, `
current-context: there
contexts: [{name: here, context: {cluster: two, user: me}}]
clusters: [{name: one, cluster: {server: "https://wrong.example"}}, {name: two, cluster: {server: "https://two.example"}}]
users: [{name: me, user: {token: second}}]
`)
	environment(t, "", filepath.Join(t.TempDir(), "none")+string(filepath.ListSeparator)+os.Getenv("KUBECONFIG"), "")
	c, err := Open("", "")
	if err != nil {
		t.Fatal(err)
	}
	if c.Host() != "one.example:6443" || c.server.Path != "/base" || c.Namespace != "agents" || c.Context != "here" || c.secret.kept.Load().token != "first" {
		t.Errorf("%s%s, namespace %s, context %s, token %s", c.Host(), c.server.Path, c.Namespace, c.Context, c.secret.kept.Load().token)
	}
	if c, err = Open("there", ""); err != nil || c.Host() != "two.example" || c.Namespace != "default" {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = Open("there", "mine"); err != nil || c.Namespace != "mine" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestHomeAndPod(t *testing.T) {
	home, account, before := t.TempDir(), t.TempDir(), serviceAccount
	serviceAccount = account
	defer func() { serviceAccount = before }()
	environment(t, home, "", "fd00::1")
	if _, err := Open("", ""); err == nil || !strings.Contains(err.Error(), "certificate authority") {
		t.Errorf("without its files a pod has %v", err)
	}
	for name, text := range map[string]string{"token": "rotating\n", "namespace": "team-a", "ca.crt": authority(t)} {
		testfile.Write(t, filepath.Join(account, name), text)
	}
	c, err := Open("", "")
	if err != nil {
		t.Fatal(err)
	}
	if token, err := c.secret.token(t.Context()); c.Host() != "[fd00::1]:443" || c.Namespace != "team-a" || token != "rotating" || err != nil {
		t.Errorf("%s in %s, token %q, %v", c.Host(), c.Namespace, token, err)
	}
	if c, err = Open(c.Context, ""); err != nil || c.Context != "in-cluster" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err = Open("other", ""); err == nil || !strings.Contains(err.Error(), "leave it out for the cluster of this pod") {
		t.Errorf("%v", err)
	}
	testfile.Write(t, filepath.Join(home, ".kube", "config"), plain)
	if c, err = Open("", ""); err != nil || c.Context != "here" {
		t.Errorf("the kubeconfig of the home does not count in a pod: %+v, %v", c, err)
	}
}

// What cannot work is said before anything is asked, with the next step, and without a credential.
func TestRefusedKubeconfigs(t *testing.T) {
	change := func(old, text string) string { return strings.Replace(plain, old, text, 1) }
	user := func(text string) string { return change("{token: first}", text) }
	b64 := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for text, want := range map[string]string{
		change("current-context: here", ""):                                                                "names no current context; choose one of: here, there",
		change("current-context: here", "current-context: hare"):                                           `no context "hare"; there is here`,
		change("cluster: one", "cluster: gone"):                                                            `the cluster "gone", which is not in it`,
		change("user: me", "user: gone"):                                                                   `the user "gone", who is not in it`,
		change("https://one.example:6443/base/", "one.example:6443"):                                       "write it as in https://",
		change("https://one", "http://one"):                                                                "write https://",
		change("https://one", "https://me:hunter2@one"):                                                    "put the credential into the user's entry",
		change(`/base/"`, `", certificate-authority: none.crt`):                                            "none.crt",
		change(`/base/"`, `", certificate-authority-data: "%%"`):                                           "not base64",
		change(`/base/"`, `", certificate-authority-data: `+b64("no PEM")):                                 "must be PEM",
		change(`/base/"`, `", proxy-url: "proxy:3128"`):                                                    "write it as in http://proxy.example.com:3128",
		user("{username: me, password: hunter2}"):                                                          "use a token",
		user("{auth-provider: {name: gcp}}"):                                                               "removed from Kubernetes",
		user("{token: hunter2, as: root, as-user-extra: {a: [b]}}"):                                        "as-user-extra",
		user("{client-certificate-data: " + b64("hunter2") + "}"):                                          "both are needed",
		user("{client-certificate-data: QQ==, client-key-data: QQ==}"):                                     "do not go together",
		user("{exec: {apiVersion: client.authentication.k8s.io/v1alpha1}}"):                                "only client.authentication.k8s.io/v1 and",
		user("{exec: {apiVersion: client.authentication.k8s.io/v1}}"):                                      "names no command",
		user("{exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}}"): "needs a terminal",
		"users: [{name: me, user: {token: hunter2":                                                         "the YAML is wrong",
		strings.Repeat("#", maxFile+1):                                                                     "cannot be read",
	} {
		write(t, text)
		c, err := Open("", "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.300q: %+v, %v; want %q", text, c, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q", err)
		}
	}
	environment(t, "", "", "")
	if _, err := Open("", ""); err == nil || !strings.Contains(err.Error(), "KUBECONFIG=FILE") {
		t.Errorf("without anything: %v", err)
	}
	environment(t, "", "/none/config", "")
	if _, err := Open("", ""); err == nil || !strings.Contains(err.Error(), "there is no such file") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func FuzzKubeconfig(f *testing.F) {
	f.Add([]byte(plain), "here")
	f.Add([]byte(`{"users": [{"user": {"exec": {"env": [{"name": 1}]}}}], "contexts": null}`), "")
	f.Add([]byte("clusters: &a [*a]"), "x")
	f.Fuzz(func(t *testing.T, text []byte, context string) {
		file, err := parseConfig("/k/config", text)
		if err != nil {
			return
		}
		at, err := file.cluster(context)
		if err != nil {
			return
		}
		if at.Context == "" || context != "" && at.Context != context {
			t.Errorf("asked for %q, chose %q", context, at.Context)
		}
		_, _ = parseServer(at.cluster.Server)
	})
}
