package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// The name and the address of Argo CD's own cluster, which need not be in the list of clusters (common.go of Argo CD,
// KubernetesInternalAPIServerAddr, and the name of a cluster without one).
const (
	ownName   = "in-cluster"
	ownServer = "kubernetes.default.svc"
)

// maxAliases bounds the names, and the addresses, of one cluster.
const maxAliases = 32

// destination is the cluster that an application deploys to, by address or by name.
type destination struct{ Server, Name string }

// cluster is one cluster with all names and addresses by which destinations may refer to it.
type cluster struct {
	servers, names []string // bare, lower case, sorted
}

// comparableAddress normalises an address for comparison: lower case, without https:// and a trailing slash.
func comparableAddress(server string) string {
	server = strings.ToLower(strings.TrimSpace(server))
	return strings.TrimSuffix(strings.TrimPrefix(server, "https://"), "/")
}

// addAliases adds the server and the name of a destination to those by which the cluster is known, up to maxAliases of each.
func (c *cluster) addAliases(d destination) {
	put := func(list []string, one string) []string {
		at, has := slices.BinarySearch(list, one)
		if one == "" || has || len(list) >= maxAliases {
			return list
		}
		return slices.Insert(list, at, one)
	}
	c.servers, c.names = put(c.servers, comparableAddress(d.Server)), put(c.names, strings.ToLower(d.Name))
}

func (c *cluster) matches(d destination) bool {
	return d.Server != "" && slices.Contains(c.servers, comparableAddress(d.Server)) || d.Name != "" && slices.Contains(c.names, strings.ToLower(d.Name))
}

func (c *cluster) cacheKey() string { return fmt.Sprintf("%q %q", c.servers, c.names) }

// clusterCalled returns the cluster that the caller means by a name or an address, with all names and addresses that the list of clusters
// has for it: applications refer to it by either one. note is for the caller, if the list may not be read or does not have the cluster;
// then c only has what the caller wrote.
func clusterCalled(ctx context.Context, client *argocd.Client, called string) (c *cluster, note string, err error) {
	c = &cluster{}
	c.addAliases(destination{Server: called, Name: strings.TrimSpace(called)})
	if c.matches(destination{Server: ownServer, Name: ownName}) {
		c.addAliases(destination{Server: ownServer, Name: ownName})
	}
	asked, found := *c, false
	asked.servers, asked.names = slices.Clone(c.servers), slices.Clone(c.names)
	_, err = client.List(ctx, argocd.Clusters, argocd.Query{}, func(item []byte) error {
		var d destination
		if err := json.Unmarshal(item, &d); err != nil {
			return fmt.Errorf("a cluster of the list: %w", err)
		}
		if asked.matches(d) {
			c.addAliases(d)
			found = true
		}
		return nil
	})
	switch refusal, is := errors.AsType[*argocd.Error](err); {
	case is && refusal.Kind == argocd.Forbidden:
		return c, fmt.Sprintf("The list of clusters may not be read, so only applications that call their cluster %q are counted. ", shortQuote(called)), nil
	case err != nil:
		return nil, "", err
	case !found:
		return c, fmt.Sprintf("No cluster that may be seen is called %q: cluster_service__list shows all. Only applications that call theirs so are counted. ", shortQuote(called)), nil
	}
	return c, "", nil
}

// progressSource wraps a client for one call: it reports progress to the caller and filters applications by cluster, which no server can
// do.
type progressSource struct {
	*argocd.Client
	progress func(done, total float64, text string)
	read     *atomic.Int64 // number of objects in all lists of the call
	over     *atomic.Bool  // the call was answered; a pass that other calls share may continue
	only     *cluster      // only applications of this cluster; nil means all
}

var _ inventory.Source = progressSource{}

// progressEvery is the number of objects between two progress messages.
const progressEvery = 100

// withProgress wraps client for one call, so that the caller of the tool is told how many objects were read. done must be called when the
// call has ended; nothing is reported after it.
func withProgress(c *builtin.Call, client *argocd.Client) (s progressSource, done func()) {
	s = progressSource{Client: client, progress: c.Progress, read: new(atomic.Int64), over: new(atomic.Bool)}
	return s, func() { s.over.Store(true) }
}

// Who returns the client's Who, with the cluster added if there is one, so that filtered lists are kept apart.
func (s progressSource) Who() string {
	if s.only == nil {
		return s.Client.Who()
	}
	return s.Client.Who() + "\n" + s.only.cacheKey()
}

// List calls each with the objects as the client does, without those that the cluster excludes, and reports progress.
func (s progressSource) List(ctx context.Context, kind argocd.Kind, q argocd.Query, each func(item []byte) error) (argocd.ListInfo, error) {
	return s.Client.List(ctx, kind, q, func(item []byte) error {
		if n := s.read.Add(1); n%progressEvery == 0 && s.progress != nil && !s.over.Load() {
			s.progress(float64(n), 0, fmt.Sprintf("%d objects read", n))
		}
		if s.only != nil && kind == argocd.Applications {
			var app struct {
				Spec struct{ Destination destination }
			}
			if err := json.Unmarshal(item, &app); err != nil {
				return fmt.Errorf("an application of the list: %w", err)
			}
			if !s.only.matches(app.Spec.Destination) {
				return nil
			}
		}
		return each(item)
	})
}
