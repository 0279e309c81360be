// Package kubeapi speaks to one Kubernetes cluster over HTTPS, with the credentials that kubectl would use there.
//
//	cluster, err := kubeapi.Open("", "agents")
//	err = cluster.Get(ctx, cluster.Path("v1", "pods", "one"), nil, &pod)
//
// The files of KUBECONFIG count, else ~/.kube/config, else the service account of the pod that this runs in. Tokens in files are read again
// when they rotate, programs that print credentials (exec) are asked again before these expire. Every call has a deadline, every answer a
// bound in bytes, and no redirect is followed. An [Error] says what to do next and holds no credential.
//
// There is no Kubernetes module behind it: callers bring types with the few fields that they need.
package kubeapi

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/plimsoll/plimsoll/internal/forwardproxy"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// maxFile bounds a kubeconfig, a certificate or a token's file, in bytes.
	maxFile = 1 << 20
	// ofPod is the name of the context that a pod has without a kubeconfig.
	ofPod = "in-cluster"
)

// serviceAccount is the folder in which a pod finds its credentials, in tests another.
var serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// Cluster is a namespace of a cluster, and who asks it. Its methods may be called by several goroutines at once.
type Cluster struct {
	// Context names the cluster to people, Namespace is where work goes.
	Context, Namespace string
	// Waits are those before a call is made again.
	Waits []time.Duration

	cluster clusterEntry
	user    userEntry
	server  *url.URL
	secret  *credential
	http    *http.Client
}

// Open returns the client for a namespace of a cluster, from the kubeconfig or, in a pod without one, from its service account. An empty
// context means the current one, an empty namespace that of the context. Nothing is sent yet.
func Open(context, namespace string) (*Cluster, error) {
	c, err := chooseCluster(context)
	if err != nil {
		return nil, err
	}
	c.Namespace = cmp.Or(namespace, c.Namespace, "default")
	c.Waits = []time.Duration{250 * time.Millisecond, time.Second, 3 * time.Second}
	c.http = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if c.cluster.ca, err = readMaterial(c.cluster.CAFile, c.cluster.CAData); err != nil {
		return nil, fmt.Errorf("the certificate authority of context %s: %w", c.Context, err)
	}
	if c.secret, err = newCredential(c.user, c.cluster); err != nil {
		return nil, fmt.Errorf("user %q of the kubeconfig: %w", c.user.name, err)
	}
	if c.server, err = parseServer(c.cluster.Server); err == nil {
		c.http.Transport, err = newTransport(c.cluster, c.secret)
	}
	if err != nil {
		return nil, fmt.Errorf("the cluster of context %s: %w", c.Context, err)
	}
	return c, nil
}

// Host is the address of the API server, without a path.
func (c *Cluster) Host() string { return c.server.Host }

// parseServer parses the address of an API server. Plain HTTP is an error unless the server is on this machine, where kubectl proxy listens; so is a
// password in the address.
func parseServer(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("server is not the address of an API server; write it as in https://10.0.0.1:6443")
	}
	if u.User != nil {
		return nil, errors.New("server has a password in it; put the credential into the user's entry")
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && !ip.IsLoopback() {
		return nil, fmt.Errorf("server is http://%s, where everyone on the way can read the credential; write https://", u.Host)
	}
	u.Path, u.RawQuery, u.Fragment = strings.TrimRight(u.Path, "/"), "", ""
	return u, nil
}

// newTransport returns the transport for a cluster of a kubeconfig. It asks secret for the client certificate at each connection.
func newTransport(c clusterEntry, secret *credential) (*http.Transport, error) {
	t := forwardproxy.Transport()
	t.DialContext = (&net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}).DialContext
	// A log that is followed is silent for as long as its command is: pings tell that from a connection that is dead.
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
	t.MaxResponseHeaderBytes = 256 << 10
	t.DisableCompression = true // or the bound of an answer would be one of its compressed bytes
	t.TLSClientConfig = &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: c.TLSServerName, GetClientCertificate: secret.certificate,
		InsecureSkipVerify: c.Insecure, // where the kubeconfig says so
	}
	if c.ca != nil {
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if c.Insecure {
			return nil, errors.New("it has a certificate authority and insecure-skip-tls-verify; remove one of them")
		}
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(c.ca) {
			return nil, errors.New("the certificate authority holds no certificate; it must be PEM")
		}
	}
	if c.ProxyURL != "" {
		u, err := url.Parse(c.ProxyURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" {
			return nil, errors.New("proxy-url is no address; write it as in http://proxy.example.com:3128, or socks5://")
		}
		t.Proxy = http.ProxyURL(u)
	}
	return t, nil
}

// readMaterial returns the bytes that data has as base64 or, if data is empty, those of the file; nil if both are empty.
func readMaterial(file, data string) ([]byte, error) {
	if data != "" {
		text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(data))
		if err != nil {
			return nil, errors.New("its data is not base64; kubectl config set-cluster or set-credentials writes it so with --embed-certs")
		}
		return text, nil
	}
	if file == "" {
		return nil, nil
	}
	return statefile.ReadLinked(file, maxFile)
}

// kubeconfig has the fields that count here (https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/).
type kubeconfig struct {
	CurrentContext            string `yaml:"current-context"`
	Clusters, Contexts, Users []entry
}

// entry is one of a cluster, a context or a user.
type entry struct {
	Name    string
	Cluster clusterEntry
	Context struct{ Cluster, User, Namespace string }
	User    userEntry
}

type clusterEntry struct {
	ca            []byte // once it is read
	Server        string
	TLSServerName string `yaml:"tls-server-name"`
	Insecure      bool   `yaml:"insecure-skip-tls-verify"`
	CAFile        string `yaml:"certificate-authority"`
	CAData        string `yaml:"certificate-authority-data"` // base64
	ProxyURL      string `yaml:"proxy-url"`
	Extensions    []struct {
		Name      string
		Extension any
	}
}

type userEntry struct {
	name            string
	CertFile        string `yaml:"client-certificate"`
	CertData        string `yaml:"client-certificate-data"` // base64
	KeyFile         string `yaml:"client-key"`
	KeyData         string `yaml:"client-key-data"` // base64
	TokenFile       string `yaml:"tokenFile"`
	Token, Username string
	As              string
	AsUID           string              `yaml:"as-uid"`
	AsGroups        []string            `yaml:"as-groups"`
	AsExtra         map[string][]string `yaml:"as-user-extra"`
	Provider        any                 `yaml:"auth-provider"`
	Exec            *execEntry
}

// chooseCluster returns the cluster for a context: from the kubeconfig if there is one, else the cluster that this pod runs in. It is an error if
// there is neither.
func chooseCluster(context string) (*Cluster, error) {
	all, err := readConfig()
	if err != nil {
		return nil, err
	}
	if all != nil {
		return all.cluster(context)
	}
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	switch {
	case host == "" || port == "":
		return nil, errors.New("there is no kubeconfig, and this is no pod of a cluster; name the file with KUBECONFIG=FILE, or put it where kubectl looks (~/.kube/config)")
	case context != "" && context != ofPod:
		return nil, fmt.Errorf("context %q is named and there is no kubeconfig; leave it out for the cluster of this pod", context)
	}
	namespace, _ := statefile.ReadLinked(filepath.Join(serviceAccount, "namespace"), 1<<10)
	return &Cluster{
		Context: ofPod, Namespace: strings.TrimSpace(string(namespace)),
		cluster: clusterEntry{Server: "https://" + net.JoinHostPort(host, port), CAFile: filepath.Join(serviceAccount, "ca.crt")},
		user:    userEntry{name: "the pod's service account", TokenFile: filepath.Join(serviceAccount, "token")},
	}, nil
}

// readConfig reads the kubeconfigs that KUBECONFIG lists, or else ~/.kube/config, and joins them; of several entries with one name the
// first counts. The result is nil if there is no file and KUBECONFIG is not set.
func readConfig() (all *kubeconfig, err error) {
	list := filepath.SplitList(os.Getenv("KUBECONFIG"))
	list = slices.DeleteFunc(list, func(path string) bool { return path == "" })
	named := len(list) > 0
	if home, err := os.UserHomeDir(); err == nil && !named {
		list = []string{filepath.Join(home, ".kube", "config")}
	}
	for _, path := range list {
		text, err := statefile.ReadLinked(path, maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue // as kubectl does: a list may name files of other machines
		}
		if err != nil {
			return nil, fmt.Errorf("the kubeconfig cannot be read: %w", err)
		}
		next, err := parseConfig(path, text)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = &kubeconfig{}
		}
		all.CurrentContext = cmp.Or(all.CurrentContext, next.CurrentContext)
		all.Clusters, all.Contexts, all.Users = append(all.Clusters, next.Clusters...), append(all.Contexts, next.Contexts...), append(all.Users, next.Users...)
	}
	if all == nil && named {
		return nil, fmt.Errorf("KUBECONFIG names %s, and there is no such file; name your cluster's, or unset KUBECONFIG for ~/.kube/config", strings.Join(list, ", "))
	}
	return all, nil
}

// parseConfig parses one kubeconfig. Relative paths in it become relative to the directory of the file.
func parseConfig(path string, text []byte) (all kubeconfig, err error) {
	if err := yaml.Unmarshal(text, &all); err != nil {
		// The parser's words may quote the line that it stopped at, and with it a token.
		return all, fmt.Errorf("%s is no kubeconfig: the YAML is wrong; kubectl config view shows where", path)
	}
	for _, list := range [][]entry{all.Clusters, all.Users} {
		for i := range list {
			e := &list[i]
			files := []*string{&e.Cluster.CAFile, &e.User.CertFile, &e.User.KeyFile, &e.User.TokenFile}
			if x := e.User.Exec; x != nil && strings.ContainsRune(x.Command, filepath.Separator) {
				files = append(files, &x.Command)
			}
			for _, file := range files {
				if *file != "" && !filepath.IsAbs(*file) {
					*file = filepath.Join(filepath.Dir(path), *file)
				}
			}
		}
	}
	return all, nil
}

// cluster returns the cluster, user and namespace of a context, of the current one if context is "". It is an error if one of them is not in
// the kubeconfig.
func (k *kubeconfig) cluster(context string) (*Cluster, error) {
	var names []string
	for _, c := range k.Contexts {
		names = append(names, c.Name)
	}
	there := limit.Short(printable.Name(cmp.Or(strings.Join(names, ", "), "none")), 200)
	context = cmp.Or(context, k.CurrentContext)
	if context == "" {
		return nil, fmt.Errorf("the kubeconfig names no current context; choose one of: %s", there)
	}
	of, ok := findEntry(k.Contexts, context)
	if !ok {
		return nil, fmt.Errorf("the kubeconfig has no context %q; there is %s", printable.Name(context), there)
	}
	cluster, ok := findEntry(k.Clusters, of.Context.Cluster)
	if !ok {
		return nil, fmt.Errorf("context %q of the kubeconfig names the cluster %q, which is not in it", printable.Name(context), printable.Name(of.Context.Cluster))
	}
	user, ok := findEntry(k.Users, of.Context.User)
	if !ok && of.Context.User != "" {
		return nil, fmt.Errorf("context %q of the kubeconfig names the user %q, who is not in it", printable.Name(context), printable.Name(of.Context.User))
	}
	user.User.name = of.Context.User
	return &Cluster{Context: context, Namespace: of.Context.Namespace, cluster: cluster.Cluster, user: user.User}, nil
}

// findEntry returns the first entry with a name; false if there is none.
func findEntry(list []entry, name string) (entry, bool) {
	if i := slices.IndexFunc(list, func(e entry) bool { return e.Name == name }); i >= 0 {
		return list[i], true
	}
	return entry{}, false
}
