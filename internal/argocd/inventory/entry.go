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

// readEntry returns the entry of an object of kind, reading only the parts of it that are needed. item is known to be one JSON value. It is an
// error if item is not an object or kind is unknown.
func readEntry(kind argocd.Kind, item []byte) (*entry, error) {
	item = bytes.TrimLeft(item, " \t\r\n")
	if len(item) == 0 || item[0] != '{' {
		return nil, fmt.Errorf("it begins with %q and is no object", item[:min(1, len(item))])
	}
	span := rawjson.Span{End: len(item)}
	e := &entry{kind: kind}
	r := reader{item: item, e: e}
	switch kind {
	case argocd.Applications:
		r.readApplication(span)
	case argocd.Projects:
		r.readProject(span)
	case argocd.ApplicationSets:
		r.readApplicationSet(span)
	case argocd.Clusters:
		r.readCluster(span)
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

// forMembers calls each with the members of the object at span. Anything but an object has no members: a field of an unexpected type counts as
// missing, and does not affect the other fields.
func (r *reader) forMembers(span rawjson.Span, each func(key string, value rawjson.Span)) {
	if r.err != nil || span.IsZero() || r.item[span.Start] != '{' {
		return
	}
	for m, err := range rawjson.Members(r.item, span.Start) {
		if err != nil {
			r.err = err
			return
		}
		each(string(m.Key), m.Value)
	}
}

// forElements calls each with the elements of the array at span; anything but an array has none. A broken array sets r.err, and after an error
// nothing is called.
func (r *reader) forElements(span rawjson.Span, each func(i int, value rawjson.Span)) {
	if r.err != nil || span.IsZero() || r.item[span.Start] != '[' {
		return
	}
	i := 0
	for value, err := range rawjson.Elements(r.item, span.Start) {
		if err != nil {
			r.err = err
			return
		}
		each(i, value)
		i++
	}
}

// field is a member of an object that is read: into points to where its value goes (see [reader.storeValue]), or has the fields of an inner
// object.
type field struct {
	key  string
	into any
}

// readFields stores those members of the object at span that are in the list where the list says. It ignores all others, and values of other types
// than expected.
func (r *reader) readFields(span rawjson.Span, list ...field) {
	r.forMembers(span, func(key string, value rawjson.Span) {
		for i := range list {
			if list[i].key == key {
				r.storeValue(value, list[i].into)
			}
		}
	})
}

// storeValue reads a value into a variable according to its type: a text, texts, labels, a destination, a number, or the fields of an
// object. A function is called with the span of the value. A variable of any other type is left as it is.
func (r *reader) storeValue(value rawjson.Span, into any) {
	switch into := into.(type) {
	case *[]byte:
		*into = r.stringAt(value)
	case *[][]byte:
		*into = r.stringsIn(value)
	case *[]pair:
		*into = nil
		r.forMembers(value, func(key string, value rawjson.Span) { *into = append(*into, pair{[]byte(key), r.stringAt(value)}) })
	case *destination:
		*into = r.readDestination(value)
	case *int:
		*into = r.parseNumber(value)
	case []field:
		r.readFields(value, into...)
	case func(rawjson.Span):
		into(value)
	}
}

func (r *reader) stringAt(span rawjson.Span) []byte { return text(r.item, span) }

// stringsIn returns the elements of the array at span as strings, nil for those that are none.
func (r *reader) stringsIn(span rawjson.Span) (list [][]byte) {
	r.forElements(span, func(_ int, value rawjson.Span) { list = append(list, r.stringAt(value)) })
	return list
}

func (r *reader) countElements(span rawjson.Span) (n int) {
	r.forElements(span, func(int, rawjson.Span) { n++ })
	return n
}

// parseNumber parses a whole number below about 1<<30; it returns 0 for anything else.
func (r *reader) parseNumber(span rawjson.Span) int {
	n := 0
	for _, c := range span.Of(r.item) {
		if c < '0' || c > '9' || n > 1<<30/10 {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func (r *reader) readMetadata(span rawjson.Span) {
	var deletion []byte
	r.readFields(span, field{"name", &r.e.name}, field{"namespace", &r.e.namespace}, field{"labels", &r.e.labels},
		field{"annotations", &r.e.annotations}, field{"deletionTimestamp", &deletion})
	r.e.deleting = len(deletion) > 0
}

func (r *reader) readSource(span rawjson.Span) (s source) {
	r.readFields(span, field{"repoURL", &s.repo}, field{"path", &s.path}, field{"chart", &s.chart}, field{"targetRevision", &s.revision}, field{"ref", &s.ref})
	return s
}

func (r *reader) readDestination(span rawjson.Span) (d destination) {
	r.readFields(span, field{"server", &d.server}, field{"name", &d.name}, field{"namespace", &d.namespace})
	return d
}

// hydratorSource returns a source hydrator (in alpha since 2.14) as a source: the branch that is synced, with the dry fields.
func (r *reader) hydratorSource(span rawjson.Span) (s source) {
	r.readFields(span,
		field{"drySource", []field{{"repoURL", &s.dryRepo}, {"path", &s.dryPath}, {"targetRevision", &s.dryRevision}}},
		field{"syncSource", []field{{"repoURL", &s.repo}, {"path", &s.path}, {"targetBranch", &s.revision}}}, // repoURL since 3.5
		field{"hydrateTo", []field{{"targetBranch", &s.hydrateTo}}},
	)
	if len(s.repo) == 0 {
		s.repo, s.dryRepo = s.dryRepo, nil
	}
	return s
}

// readSpec reads the parts of a spec that applications and the templates of application sets share into the entry: project, destination and
// sources.
func (r *reader) readSpec(span rawjson.Span) {
	var one, hydrator rawjson.Span
	var many []source
	keep := func(at *rawjson.Span) func(rawjson.Span) { return func(value rawjson.Span) { *at = value } }
	r.readFields(span,
		field{"project", &r.e.project}, field{"destination", &r.e.to}, field{"source", keep(&one)}, field{"sourceHydrator", keep(&hydrator)},
		field{"sources", func(value rawjson.Span) {
			many = nil
			r.forElements(value, func(_ int, value rawjson.Span) { many = append(many, r.readSource(value)) })
		}},
	)
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
		r.e.sources = []source{r.readSource(one)}
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
