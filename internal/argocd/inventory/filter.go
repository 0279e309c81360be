package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

// healthStatuses returns the values of health.status, and syncStatuses those of sync.status (Argo CD, gitops-engine pkg/health and
// SyncStatusCode), with "none" for a status that is not set.
func healthStatuses() []string {
	return []string{"Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown", "none"}
}

func syncStatuses() []string { return []string{"Synced", "OutOfSync", "Unknown", "none"} }

// filter holds the criteria by which objects are selected here and not by the server.
type filter struct {
	kind         argocd.Kind
	health, sync []string
	namespace    string
	names        []string // projects: those of Query.Projects and Query.Name
	project      []string // clusters
	name         string
	repo, server string
}

// newFilter returns the filter for a request. It is an error if the kind does not have one of the criteria or a value is unknown: ignoring it
// silently would answer another question.
func newFilter(r ListRequest) (f filter, err error) {
	f = filter{kind: r.Kind, namespace: r.Namespace}
	if !slices.Contains(argocd.Kinds(), r.Kind) {
		return f, fmt.Errorf("%q is no kind of object; there are %s", r.Kind, joinKindNames())
	}
	refuse := func(what string, set bool, kinds ...argocd.Kind) {
		if err == nil && set && !slices.Contains(kinds, r.Kind) {
			err = fmt.Errorf("%s do not have the filter %s; leave it out", r.Kind, what)
		}
	}
	refuse("health", len(r.Health) > 0, argocd.Applications, argocd.ApplicationSets)
	refuse("sync", len(r.Sync) > 0, argocd.Applications)
	refuse("namespace", r.Namespace != "", argocd.Applications, argocd.ApplicationSets, argocd.Projects)
	refuse("repo", r.Query.Repo != "", argocd.Applications)
	refuse("selector", r.Query.Selector != "", argocd.Applications, argocd.ApplicationSets)
	refuse("app_namespace", r.Query.AppNamespace != "", argocd.Applications, argocd.ApplicationSets)
	refuse("server", r.Query.Server != "", argocd.Clusters)
	if err != nil {
		return f, err
	}
	if f.health, err = canonicalNames("health", r.Health, healthStatuses()); err != nil {
		return f, err
	}
	if f.sync, err = canonicalNames("sync", r.Sync, syncStatuses()); err != nil {
		return f, err
	}
	// The criteria that the server ignores (for projects all, for application sets the name) or applies only in
	// part, see serverQuery.
	switch r.Kind {
	case argocd.Applications:
		f.name, f.repo = r.Query.Name, r.Query.Repo
	case argocd.Projects:
		f.names = r.Query.Projects
		f.name = r.Query.Name
	case argocd.ApplicationSets:
		f.name = r.Query.Name
	case argocd.Clusters:
		f.project, f.name, f.server = r.Query.Projects, r.Query.Name, r.Query.Server
	}
	return f, nil
}

// serverQuery returns the part of a query that the server answers correctly. Of several applications or clusters with one name it returns
// only one, which another filter or the user's rights may then remove (FilterByNameP of util/argo, filterClustersByName), and it compares
// the repository with that of the first source only (FilterByRepoP).
func serverQuery(kind argocd.Kind, q argocd.Query) argocd.Query {
	q.Repo, q.Server = "", ""
	if kind != argocd.Applications || q.AppNamespace == "" { // within a namespace a name is unique
		q.Name = ""
	}
	return q
}

func joinKindNames() string {
	var names []string
	for _, kind := range argocd.Kinds() {
		names = append(names, string(kind))
	}
	return strings.Join(names, ", ")
}

// canonicalNames returns the values as Argo CD spells them, sorted and without repetitions; an error if one is unknown.
func canonicalNames(filter string, values, all []string) ([]string, error) {
	var list []string
	for _, value := range values {
		i := slices.IndexFunc(all, func(s string) bool { return strings.EqualFold(s, strings.TrimSpace(value)) })
		if i < 0 {
			return nil, fmt.Errorf("%s %q is unknown; use one or more of %s", filter, value, strings.Join(all, ", "))
		}
		if !slices.Contains(list, all[i]) {
			list = append(list, all[i])
		}
	}
	slices.Sort(list)
	return list, nil
}

// match reports whether an entry meets all criteria; one that is not set is met.
func (f *filter) match(e *entry) bool {
	among := func(list []string, value []byte) bool {
		return len(list) == 0 || slices.Contains(list, string(value))
	}
	namespace := e.namespace
	if f.kind == argocd.Applications {
		namespace = e.to.namespace
	}
	return among(f.health, statusOrNone(e.health)) && among(f.sync, statusOrNone(e.sync)) &&
		(f.namespace == "" || string(namespace) == f.namespace) &&
		among(f.names, e.name) && among(f.project, e.project) &&
		(f.name == "" || string(e.name) == f.name) &&
		(f.server == "" || string(e.server) == f.server) &&
		(f.repo == "" || slices.ContainsFunc(e.sources, func(s source) bool { return string(s.repo) == f.repo || string(s.dryRepo) == f.repo }))
}
