package argocd

import (
	"net/url"
	"slices"
)

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

// values returns the parameters for a list of kind, without fields.
func (q Query) values(kind Kind) url.Values {
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
