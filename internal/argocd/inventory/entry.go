package inventory

import (
	"bytes"
	"fmt"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// entry holds the fields of one object for lists and searches. Its texts refer to the bytes of the object, and are valid as long as these.
type entry struct {
	kind                     argocd.Kind
	name, namespace, project []byte
	health, sync             []byte // sync is the status of the connection for clusters
	labels, annotations      []pair
	description              []byte
	sources                  []source
	multi                    bool // the sources are from spec.sources
	to                       destination
	phase                    []byte // of the last or running operation
	hydration                []byte // phase of the last or running hydration
	deleting                 bool
	repos                    [][]byte // projects: allowed ones; application sets: those in generators
	repoFields               []string // application sets: the field of each of repos
	destinations             []destination
	roles                    [][]byte
	windows                  int
	template                 []byte // application sets: the name that applications get
	generators               [][]byte
	trouble                  []byte // the server's message about what is wrong
	applications             int
	server, version          []byte // clusters
	namespaces               [][]byte
}

// source says where an application's manifests come from. With a source hydrator, which writes them, the dry fields say what it makes them
// of.
type source struct {
	repo, path, chart, revision, ref []byte
	dryRepo, dryPath, dryRevision    []byte
	hydrateTo                        []byte // the branch that the hydrator writes, if another one is synced
}

// destination is the cluster and the namespace that manifests are deployed to.
type destination struct{ server, name, namespace []byte }

// read returns the entry of an object of kind. item is known to be one JSON value; only the needed parts of it are read. It is an error if
// item is not an object or kind is unknown.
func read(kind argocd.Kind, item []byte) (*entry, error) {
	item = bytes.TrimLeft(item, " \t\r\n")
	if len(item) == 0 || item[0] != '{' {
		return nil, fmt.Errorf("it begins with %q and is no object", item[:min(1, len(item))])
	}
	span := rawjson.Span{End: len(item)}
	e := &entry{kind: kind}
	r := reader{item: item, e: e}
	switch kind {
	case argocd.Applications:
		r.application(span)
	case argocd.Projects:
		r.proj(span)
	case argocd.ApplicationSets:
		r.applicationSet(span)
	case argocd.Clusters:
		r.cluster(span)
	default:
		return nil, fmt.Errorf("%q is no kind", kind)
	}
	return e, r.err
}

// reader fills an entry. After an error it reads nothing more.
type reader struct {
	item []byte
	e    *entry
	err  error
}

func (r *reader) members(span rawjson.Span, each func(key string, value rawjson.Span)) {
	if r.err == nil {
		r.err = members(r.item, span, func(key []byte, value rawjson.Span) { each(string(key), value) })
	}
}

func (r *reader) elements(span rawjson.Span, each func(i int, value rawjson.Span)) {
	if r.err == nil {
		r.err = elements(r.item, span, each)
	}
}

func (r *reader) text(span rawjson.Span) []byte { return text(r.item, span) }

func (r *reader) texts(span rawjson.Span) (list [][]byte) {
	if r.err == nil {
		list, r.err = texts(r.item, span)
	}
	return list
}

func (r *reader) pairs(span rawjson.Span) (list []pair) {
	if r.err == nil {
		list, r.err = pairs(r.item, span)
	}
	return list
}

func (r *reader) count(span rawjson.Span) (n int) {
	if r.err == nil {
		n, r.err = count(r.item, span)
	}
	return n
}

// number returns a whole number below about 1<<30; 0 for anything else.
func (r *reader) number(span rawjson.Span) int {
	n := 0
	for _, c := range span.Of(r.item) {
		if c < '0' || c > '9' || n > 1<<30/10 {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func (r *reader) metadata(span rawjson.Span) {
	r.members(span, func(key string, value rawjson.Span) {
		switch key {
		case "name":
			r.e.name = r.text(value)
		case "namespace":
			r.e.namespace = r.text(value)
		case "labels":
			r.e.labels = r.pairs(value)
		case "annotations":
			r.e.annotations = r.pairs(value)
		case "deletionTimestamp":
			r.e.deleting = len(r.text(value)) > 0
		}
	})
}

func (r *reader) source(span rawjson.Span) (s source) {
	r.members(span, func(key string, value rawjson.Span) {
		switch key {
		case "repoURL":
			s.repo = r.text(value)
		case "path":
			s.path = r.text(value)
		case "chart":
			s.chart = r.text(value)
		case "targetRevision":
			s.revision = r.text(value)
		case "ref":
			s.ref = r.text(value)
		}
	})
	return s
}

func (r *reader) destination(span rawjson.Span) (d destination) {
	r.members(span, func(key string, value rawjson.Span) {
		switch key {
		case "server":
			d.server = r.text(value)
		case "name":
			d.name = r.text(value)
		case "namespace":
			d.namespace = r.text(value)
		}
	})
	return d
}

// status returns the member status of an object.
func (r *reader) status(span rawjson.Span) (status []byte) {
	r.members(span, func(key string, value rawjson.Span) {
		if key == "status" {
			status = r.text(value)
		}
	})
	return status
}

// hydratorSource returns a source hydrator (in alpha since 2.14) as a source: the branch that is synced, with the dry fields.
func (r *reader) hydratorSource(span rawjson.Span) (s source) {
	r.members(span, func(key string, value rawjson.Span) {
		switch key {
		case "drySource":
			dry := r.source(value)
			s.dryRepo, s.dryPath, s.dryRevision = dry.repo, dry.path, dry.revision
		case "syncSource":
			r.members(value, func(key string, value rawjson.Span) {
				switch key {
				case "repoURL": // since 3.5
					s.repo = r.text(value)
				case "path":
					s.path = r.text(value)
				case "targetBranch":
					s.revision = r.text(value)
				}
			})
		case "hydrateTo":
			r.members(value, func(key string, value rawjson.Span) {
				if key == "targetBranch" {
					s.hydrateTo = r.text(value)
				}
			})
		}
	})
	if len(s.repo) == 0 {
		s.repo, s.dryRepo = s.dryRepo, nil
	}
	return s
}

// spec reads the parts of a spec that applications and the templates of application sets share.
func (r *reader) spec(span rawjson.Span) {
	var one, hydrator rawjson.Span
	var many []source
	r.members(span, func(key string, value rawjson.Span) {
		switch key {
		case "project":
			r.e.project = r.text(value)
		case "source":
			one = value
		case "sourceHydrator":
			hydrator = value
		case "sources":
			many = nil
			r.elements(value, func(_ int, value rawjson.Span) { many = append(many, r.source(value)) })
		case "destination":
			r.e.to = r.destination(value)
		}
	})
	is := func(span rawjson.Span) bool { return !span.IsZero() && r.item[span.Start] == '{' }
	// As in Argo CD (GetSources): a hydrator replaces sources, and sources, if there are any, replace
	// source.
	r.e.multi = false
	switch {
	case is(hydrator):
		r.e.sources = []source{r.hydratorSource(hydrator)}
	case len(many) > 0:
		r.e.multi, r.e.sources = true, many
	case is(one):
		r.e.sources = []source{r.source(one)}
	}
}

// key returns the key by which entries of a kind are sorted: name, then namespace (clusters: address).
func (e *entry) key() []byte {
	second := e.namespace
	if e.kind == argocd.Clusters {
		second = e.server
	}
	return bytes.Join([][]byte{e.name, second}, []byte{0})
}
