package kubeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// pluginTime bounds a plugin, which may wait for a browser.
	pluginTime = 2 * time.Minute
	// pluginWords bounds the part of its standard error that is shown, in bytes.
	pluginWords = 300
)

// pluginVersions are the versions of the protocol that are spoken, https://kubernetes.io/docs/reference/config-api/client-authentication.v1/.
var pluginVersions = []string{"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"}

type execEntry struct {
	APIVersion string   `yaml:"apiVersion"`
	Command    string   `yaml:"command"`
	Args       []string `yaml:"args"`
	Env        []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"env"`
	InstallHint        string `yaml:"installHint"`
	ProvideClusterInfo bool   `yaml:"provideClusterInfo"`
	InteractiveMode    string `yaml:"interactiveMode"`
}

// plugin is a program of the kubeconfig that prints a credential.
type plugin struct {
	entry   execEntry
	command string
	env     []string
}

// execCredential is the one document of the protocol: its spec goes in, its status comes out.
type execCredential struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Interactive bool         `json:"interactive"`
		Cluster     *execCluster `json:"cluster,omitempty"`
	} `json:"spec"`
	Status *execStatus `json:"status,omitempty"`
}

type execCluster struct {
	Server        string `json:"server"`
	TLSServerName string `json:"tls-server-name,omitempty"`
	Insecure      bool   `json:"insecure-skip-tls-verify,omitempty"`
	CAData        []byte `json:"certificate-authority-data,omitempty"`
	ProxyURL      string `json:"proxy-url,omitempty"`
	Config        any    `json:"config,omitempty"`
}

type execStatus struct {
	Expires string `json:"expirationTimestamp"`
	Token   string `json:"token"`
	Cert    string `json:"clientCertificateData"`
	Key     string `json:"clientKeyData"`
}

func newPlugin(e execEntry, at found, getenv func(string) string) (*plugin, error) {
	switch {
	case !slices.Contains(pluginVersions, e.APIVersion):
		return nil, fmt.Errorf("exec speaks %q, and only %s are known; update the program that wrote it", printable.Name(e.APIVersion), strings.Join(pluginVersions, " and "))
	case e.Command == "":
		return nil, errors.New("exec names no command")
	case e.InteractiveMode == "Always":
		return nil, errors.New("its exec plugin needs a terminal to ask on (interactiveMode: Always); use one that keeps its login")
	}
	p := &plugin{entry: e, command: e.Command}
	if strings.ContainsRune(e.Command, filepath.Separator) {
		p.command = inDir(at.user.dir, e.Command)
	}
	info := execCredential{APIVersion: e.APIVersion, Kind: "ExecCredential"}
	if e.ProvideClusterInfo {
		c := at.cluster
		ca, err := material(c.dir, c.CAFile, c.CAData)
		if err != nil {
			return nil, fmt.Errorf("the certificate authority: %w", err)
		}
		info.Spec.Cluster = &execCluster{Server: c.Server, TLSServerName: c.TLSServerName, Insecure: c.Insecure, CAData: ca, ProxyURL: c.ProxyURL}
		for _, x := range c.Extensions {
			if x.Name == "client.authentication.k8s.io/exec" {
				info.Spec.Cluster.Config = x.Extension
			}
		}
	}
	text, err := json.Marshal(info)
	if err != nil {
		return nil, fmt.Errorf("what the cluster's extension says for exec is no JSON: %w", err)
	}
	p.env = os.Environ()
	if path := getenv("PATH"); path != "" {
		p.env = append(p.env, "PATH="+path)
	}
	for _, v := range e.Env {
		p.env = append(p.env, v.Name+"="+v.Value)
	}
	p.env = append(p.env, "KUBERNETES_EXEC_INFO="+string(text))
	return p, nil
}

// ask runs the program once.
func (p *plugin) ask(ctx context.Context) (proof, error) {
	ctx, cancel := context.WithTimeout(ctx, pluginTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.command, p.entry.Args...)
	cmd.Env, cmd.WaitDelay = p.env, time.Second // a child of it may hold the pipes
	printed, said := &head{most: maxFile}, &head{most: pluginWords}
	cmd.Stdout, cmd.Stderr = printed, said
	err := cmd.Run()
	fail := func(format string, a ...any) (proof, error) {
		return proof{}, fmt.Errorf("the program %s of the kubeconfig, which gives the credential, "+format, append([]any{p.entry.Command}, a...)...)
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fail("took more than %s; log in with it, and try again", pluginTime)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		hint := "install it"
		if p.entry.InstallHint != "" {
			hint = clean(p.entry.InstallHint, pluginWords)
		}
		return fail("is not there: %s", hint)
	case err != nil:
		return fail("failed (%w): %s", err, clean(said.String(), pluginWords))
	case printed.cut:
		return fail("printed more than %s", limit.Bytes(maxFile))
	}
	var answer execCredential
	if json.Unmarshal(printed.Bytes(), &answer) != nil || answer.Kind != "ExecCredential" || answer.Status == nil {
		return fail("printed no ExecCredential")
	}
	if answer.APIVersion != p.entry.APIVersion {
		return fail("answered with version %q, asked for %q", printable.Name(answer.APIVersion), p.entry.APIVersion)
	}
	s := answer.Status
	if s.Token == "" && s.Cert == "" || (s.Cert == "") != (s.Key == "") {
		return fail("gave neither a token nor a certificate with its key")
	}
	got := proof{token: s.Token}
	if s.Cert != "" {
		if got.cert, err = pairOf([]byte(s.Cert), []byte(s.Key)); err != nil {
			return fail("gave a certificate that cannot be used")
		}
	}
	if s.Expires != "" {
		at, err := time.Parse(time.RFC3339, s.Expires)
		if err != nil {
			return fail("says that its credential ends at %q, which is no time", printable.Name(limit.Short(s.Expires, 40)))
		}
		got.until = at.Add(-early)
	}
	return got, nil
}

// head keeps the first most bytes of what is written.
type head struct {
	bytes.Buffer

	most int
	cut  bool
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.most-h.Len())
	h.cut = h.cut || n < len(p)
	h.Buffer.Write(p[:n])
	return len(p), nil
}

// clean makes text of others one line that may be shown, without what may be a credential.
func clean(text string, maxBytes int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(limit.Clip(text, 4*maxBytes), "")), " ")
	return limit.Short(printable.Name(secrets.Text(text)), maxBytes)
}
