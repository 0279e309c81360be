package argocd

import (
	"net/url"
	"slices"
)

// Kind is one of the lists, by the last segment of its path.
type Kind string

// The kinds.
const (
	Applications    Kind = "applications"
	Projects        Kind = "projects"
	ApplicationSets Kind = "applicationsets"
	Clusters        Kind = "clusters"
	Repositories    Kind = "repositories" // settings: can be listed, and is not among [Kinds]
)

// Kinds returns the kinds that are searched, in the order in which answers name them.
func Kinds() []Kind { return []Kind{Applications, Projects, ApplicationSets, Clusters} }

// Query narrows a list on the server. What the list of a kind does not know is not sent, so
// that nobody takes a parameter for a filter that the server ignores:
//
//	applications     Projects, Name (exact), Repo (exact), Selector, AppNamespace, Fields
//	projects         Fields
//	applicationsets  Projects, Selector, AppNamespace
//	clusters         Name (exact), Server (exact)
//	repositories     Projects (the first; newer servers only)
//
// Of several applications or clusters of one name, servers give one only (2.10 to 3.5), and
// Repo is compared with the first source of an application.
type Query struct {
	Projects                                   []string
	Name, Repo, Selector, AppNamespace, Server string
	// Fields are leaf paths without "items.", of [SummaryFields] or [SearchFields] or your
	// own; nil asks for whole objects. Kinds that know no fields give whole objects. What
	// this version of the server knows only as a part of something is asked for with that
	// ("spec.project" as "spec" below 3.5), what only newer ones know is left out, and with
	// a path that none knows the whole objects are read: nothing that was asked for gets
	// lost where it could be had.
	Fields []string
}

// ListInfo describes a list that was read, also where that ended with an error.
type ListInfo struct {
	Items    int   // given to each
	Bytes    int64 // received, after decompression, of the pass that counts
	Narrowed bool  // fewer fields were asked for than objects have
	Reread   bool  // it was null, as right after a server's start, and was read again
}

// values returns the parameters of q that lists of kind honour, except fields.
func (q Query) values(kind Kind) url.Values {
	v := url.Values{}
	set := func(key, value string) {
		if value != "" {
			v.Set(key, value)
		}
	}
	switch kind {
	case Applications:
		// Repeated: a list with commas is taken for one name.
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
