package kubeapi

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/plimsoll/plimsoll/internal/nearest"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// maxFile bounds a kubeconfig, a certificate or a token's file, in bytes.
	maxFile = 1 << 20
	// maxFiles bounds the files that KUBECONFIG may list.
	maxFiles = 64
)

// configFile is a kubeconfig, with the fields that count here (https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/).
type configFile struct {
	path           string
	CurrentContext string `yaml:"current-context"`
	Clusters       []struct {
		Name    string       `yaml:"name"`
		Cluster clusterEntry `yaml:"cluster"`
	} `yaml:"clusters"`
	Contexts []struct {
		Name    string       `yaml:"name"`
		Context contextEntry `yaml:"context"`
	} `yaml:"contexts"`
	Users []struct {
		Name string    `yaml:"name"`
		User userEntry `yaml:"user"`
	} `yaml:"users"`
}

type clusterEntry struct {
	dir           string // relative paths in the entry start here
	Server        string `yaml:"server"`
	TLSServerName string `yaml:"tls-server-name"`
	Insecure      bool   `yaml:"insecure-skip-tls-verify"`
	CAFile        string `yaml:"certificate-authority"`
	CAData        string `yaml:"certificate-authority-data"` // base64
	ProxyURL      string `yaml:"proxy-url"`
	Extensions    []struct {
		Name      string `yaml:"name"`
		Extension any    `yaml:"extension"`
	} `yaml:"extensions"`
}

type contextEntry struct {
	Cluster   string `yaml:"cluster"`
	User      string `yaml:"user"`
	Namespace string `yaml:"namespace"`
}

type userEntry struct {
	name, dir string
	CertFile  string              `yaml:"client-certificate"`
	CertData  string              `yaml:"client-certificate-data"` // base64
	KeyFile   string              `yaml:"client-key"`
	KeyData   string              `yaml:"client-key-data"` // base64
	Token     string              `yaml:"token"`
	TokenFile string              `yaml:"tokenFile"`
	As        string              `yaml:"as"`
	AsUID     string              `yaml:"as-uid"`
	AsGroups  []string            `yaml:"as-groups"`
	AsExtra   map[string][]string `yaml:"as-user-extra"`
	Username  string              `yaml:"username"`
	Provider  any                 `yaml:"auth-provider"`
	Exec      *execEntry          `yaml:"exec"`
}

// found is all that a kubeconfig says of one context.
type found struct {
	context   string
	namespace string
	cluster   clusterEntry
	user      userEntry
}

// readConfig reads the kubeconfigs that count. none is true where there is no file, and nobody has named one.
func readConfig(o Options) (files []configFile, none bool, err error) {
	list := filepath.SplitList(o.Getenv("KUBECONFIG"))
	list = slices.DeleteFunc(list, func(path string) bool { return path == "" })
	named := len(list) > 0
	switch {
	case len(list) > maxFiles:
		return nil, false, fmt.Errorf("KUBECONFIG lists %d files, of at most %d", len(list), maxFiles)
	case !named && o.Home == "":
		return nil, true, nil
	case !named:
		list = []string{filepath.Join(o.Home, ".kube", "config")}
	}
	for _, path := range list {
		text, err := statefile.ReadLinked(path, maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue // as kubectl does: a list may name files of other machines
		}
		if err != nil {
			return nil, false, fmt.Errorf("the kubeconfig cannot be read: %w", err)
		}
		file, err := parseConfig(path, text)
		if err != nil {
			return nil, false, err
		}
		files = append(files, file)
	}
	if len(files) == 0 && named {
		return nil, false, fmt.Errorf("KUBECONFIG names %s, and there is no such file; name your cluster's, or unset KUBECONFIG for ~/.kube/config", strings.Join(list, ", "))
	}
	return files, len(files) == 0, nil
}

func parseConfig(path string, text []byte) (configFile, error) {
	file := configFile{path: path}
	if err := yaml.Unmarshal(text, &file); err != nil {
		// The parser's words may quote the line that it stopped at, and with it a token.
		line := ""
		if words := strings.Fields(err.Error()); len(words) > 2 && words[1] == "line" {
			line = " at line " + strings.TrimSuffix(words[2], ":")
		}
		return file, fmt.Errorf("%s is no kubeconfig: the YAML is wrong%s; kubectl config view shows whether kubectl can read it", path, line)
	}
	dir := filepath.Dir(path)
	for i := range file.Clusters {
		file.Clusters[i].Cluster.dir = dir
	}
	for i := range file.Users {
		file.Users[i].User.name, file.Users[i].User.dir = file.Users[i].Name, dir
	}
	return file, nil
}

// choose returns what the files say of a context, "" for the current one. Where two files have an entry of one name the first counts whole.
func choose(files []configFile, context string) (found, error) {
	var all []string
	for _, f := range files {
		for _, c := range f.Contexts {
			all = append(all, c.Name)
		}
	}
	for _, f := range files {
		if context == "" {
			context = f.CurrentContext
		}
	}
	if context == "" {
		return found{}, fmt.Errorf("%s names no current context; choose one of: %s", files[0].path, shortList(all))
	}
	at := found{context: context}
	var entry *contextEntry
	for _, f := range files {
		for i := range f.Contexts {
			if entry == nil && f.Contexts[i].Name == context {
				entry = &f.Contexts[i].Context
			}
		}
	}
	if entry == nil {
		if near := nearest.Names(context, all, 1); len(near) > 0 {
			all = near
		}
		return at, fmt.Errorf("the kubeconfig has no context %q; there is %s", printable.Name(context), shortList(all))
	}
	at.namespace = entry.Namespace
	knownCluster, knownUser := false, entry.User == ""
	for _, f := range files {
		for _, c := range f.Clusters {
			if !knownCluster && c.Name == entry.Cluster {
				at.cluster, knownCluster = c.Cluster, true
			}
		}
		for _, u := range f.Users {
			if !knownUser && u.Name == entry.User {
				at.user, knownUser = u.User, true
			}
		}
	}
	switch {
	case !knownCluster:
		return at, fmt.Errorf("context %q of the kubeconfig names the cluster %q, which is not in it", printable.Name(context), printable.Name(entry.Cluster))
	case !knownUser:
		return at, fmt.Errorf("context %q of the kubeconfig names the user %q, who is not in it", printable.Name(context), printable.Name(entry.User))
	}
	return at, nil
}

// shortList names what there is, for a message.
func shortList(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return limit.Short(printable.Name(strings.Join(names, ", ")), 200)
}
