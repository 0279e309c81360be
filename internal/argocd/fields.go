package argocd

import (
	"net/url"
	"slices"
	"strings"
)

// baseFields returns the leaf paths that every supported server accepts in lists of applications: appFields of
// pkg/apiclient/application/forwarder_overwrite.go at v2.8.0. They did not change until v3.2.0.
func baseFields() []string {
	return []string{
		"metadata.name", "metadata.namespace", "metadata.annotations", "metadata.labels",
		"metadata.creationTimestamp", "metadata.deletionTimestamp", "spec", "status.summary",
		"status.sync.status", "status.health", "status.operationState.startedAt",
		"status.operationState.finishedAt", "status.resources", "operation.sync",
		"status.operationState.phase", "status.operationState.operation.sync",
	}
}

// laterFields returns the paths that were added to appFields later, each with the version that has it first (that file at v3.2.0 and
// v3.5.0).
func laterFields() map[string]Version {
	hydrator, split := Version{Major: 3, Minor: 2}, Version{Major: 3, Minor: 5}
	return map[string]Version{
		"status.sourceHydrator": hydrator,
		"spec.destination":      split, "spec.project": split, "spec.source": split, "spec.sources": split,
		"spec.sourceHydrator": split, "spec.syncPolicy": split, "status.sync.revision": split,
	}
}

// SummaryFields returns the leaf paths that a row of kind needs; nil for kinds whose lists do not support fields. Lists and objects below a
// path are complete (spec.sources is the whole array). No version's lists have status.conditions: a row that needs it must be made of whole
// objects.
func SummaryFields(kind Kind) []string {
	switch kind {
	case Applications:
		return []string{
			"metadata.name", "metadata.namespace", "metadata.labels", "metadata.creationTimestamp", "metadata.deletionTimestamp",
			"spec.project", "spec.destination", "spec.source", "spec.sources", "spec.sourceHydrator", "spec.syncPolicy",
			"status.health", "status.sync.status", "status.sync.revision",
			"status.operationState.phase", "status.operationState.finishedAt", "status.sourceHydrator",
		}
	case Projects:
		return []string{
			"metadata.name", "metadata.namespace", "metadata.labels", "metadata.creationTimestamp", "metadata.deletionTimestamp",
			"spec.description", "spec.sourceRepos", "spec.sourceNamespaces", "spec.destinations", "spec.roles.name",
			"spec.syncWindows.kind", "spec.clusterResourceWhitelist", "spec.orphanedResources.warn",
		}
	}
	return nil
}

// SearchFields returns the leaf paths that a search of a kind needs, which include [SummaryFields]; nil for kinds whose lists do not
// support fields.
func SearchFields(kind Kind) []string {
	fields := SummaryFields(kind)
	if fields == nil {
		return nil
	}
	return append(fields, "metadata.annotations")
}

// fieldsParameter returns the parameter for these fields that a server of version v accepts; "" means that whole objects must be read. An
// unknown version counts as the oldest.
func fieldsParameter(kind Kind, v Version, fields []string) string {
	if len(fields) == 0 || kind != Applications && kind != Projects {
		return ""
	}
	var send []string
	for _, f := range fields {
		if strings.ContainsAny(f, ", -") || f == "" { // "-" would exclude the fields
			return ""
		}
		if kind == Applications {
			var known bool
			if f, known = requestField(f, v); !known {
				return ""
			}
		}
		if f != "" {
			send = append(send, f)
		}
	}
	// A path and one below it at the same time are an error of 3.5.0 and 3.5.1.
	slices.Sort(send)
	send = slices.Compact(send)
	var out []string
	for _, f := range send {
		covered := slices.ContainsFunc(send, func(other string) bool { return strings.HasPrefix(f, other+".") })
		if !covered {
			out = append(out, "items."+f)
		}
	}
	if len(out) == 0 {
		return ""
	}
	// The list's own version: without it a null list is not empty, but one that the server has not read yet.
	return "metadata.resourceVersion," + strings.Join(out, ",")
}

// requestField returns the path to request for field f from a server of version v: f itself, a path that contains it, or "" if only newer servers
// have it. known is false if no version has it.
func requestField(f string, v Version) (string, bool) {
	newer, oldest := laterFields(), baseFields()
	known := false
	for part := f; part != ""; part = part[:max(0, strings.LastIndexByte(part, '.'))] {
		if slices.Contains(oldest, part) {
			return part, true
		}
		if since, ok := newer[part]; ok {
			if known = true; !v.Less(since) {
				return part, true
			}
		}
	}
	return "", known
}

// Kind is a kind of list, by the last segment of its path.
type Kind string

// The kinds.
const (
	Applications    Kind = "applications"
	Projects        Kind = "projects"
	ApplicationSets Kind = "applicationsets"
	Clusters        Kind = "clusters"
	Repositories    Kind = "repositories" // settings: can be listed, but is not in [Kinds]
)

// Kinds returns the kinds that are searched, in the order of answers.
func Kinds() []Kind { return []Kind{Applications, Projects, ApplicationSets, Clusters} }

// Query narrows a list on the server. Only these criteria are sent for a kind; servers ignore the others
// silently:
//
//	applications     Projects, Name (exact), Repo (exact), Selector, AppNamespace, Fields
//	projects         Fields
//	applicationsets  Projects, Selector, AppNamespace
//	clusters         Name (exact), Server (exact)
//	repositories     Projects (the first; newer servers only)
//
// Of several applications or clusters with the same name, servers return only one (2.10 to 3.5), and they compare
// Repo only with the first source of an application.
type Query struct {
	Projects                                   []string
	Name, Repo, Selector, AppNamespace, Server string
	// Fields are leaf paths without "items.", of [SummaryFields] or [SearchFields] or your
	// own; nil requests whole objects, which is also what kinds without this parameter return.
	// A path that this version of the server only has as a part of another one is requested by
	// that ("spec.project" as "spec" below 3.5), a path that only newer versions have is left out, and
	// for one that no version has whole objects are read: no field is lost that the server could
	// send.
	Fields []string
}

// ListInfo describes a list that was read, also if that ended with an error.
type ListInfo struct {
	Items    int   // number of objects passed to each
	Bytes    int64 // received, after decompression, of the pass that counts
	Narrowed bool  // fewer fields were asked for than objects have
	Reread   bool  // the list was null, as right after a server's start, and was read again
}

// parameters returns the parameters for a list of kind, without fields.
func (q Query) parameters(kind Kind) url.Values {
	v := url.Values{}
	set := func(key, value string) {
		if value != "" {
			v.Set(key, value)
		}
	}
	switch kind {
	case Applications:
		// Repeated, because servers take a list with commas as one name.
		v["projects"] = slices.Clone(q.Projects)
		set("name", q.Name)
		set("repo", q.Repo)
		set("selector", q.Selector)
		set("appNamespace", q.AppNamespace)
	case ApplicationSets:
		v["projects"] = slices.Clone(q.Projects)
		set("selector", q.Selector)
		set("appsetNamespace", q.AppNamespace)
	case Clusters:
		set("name", q.Name)
		set("server", q.Server)
	case Repositories:
		if len(q.Projects) > 0 {
			set("appProject", q.Projects[0])
		}
	}
	return v
}
