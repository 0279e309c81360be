package argocd

// Kind is one of the four lists, by the last segment of its path.
type Kind string

// The kinds.
const (
	Applications    Kind = "applications"
	Projects        Kind = "projects"
	ApplicationSets Kind = "applicationsets"
	Clusters        Kind = "clusters"
)

// Kinds gives all kinds, in the order in which answers name them.
func Kinds() []Kind { return []Kind{Applications, Projects, ApplicationSets, Clusters} }

// Query narrows a list on the server. What a kind does not know is not sent.
type Query struct {
	Projects                                   []string
	Name, Repo, Selector, AppNamespace, Server string
	// Fields are leaf paths without "items.".
	Fields []string
}

// ListInfo tells about a list that was read.
type ListInfo struct {
	Items    int
	Bytes    int64
	Narrowed bool
	Reread   bool
}
