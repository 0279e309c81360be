package inventory

import (
	"slices"
	"strconv"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/redact"
)

// maxMatched bounds the fields that a hit names.
const maxMatched = 5

// fieldPlace identifies a field. Its name is only built when needed, because most fields never match.
type fieldPlace struct {
	field string
	i     int // the index of an element, or -1
	key   []byte
	sub   string
}

func newFieldPlace(field string) fieldPlace { return fieldPlace{field: field, i: -1} }

// String returns the place as in "labels.team" or "sources[0].repoURL".
func (p fieldPlace) String() string {
	s := p.field
	if p.i >= 0 {
		s += "[" + strconv.Itoa(p.i) + "]"
	}
	if p.key != nil {
		s += "." + string(p.key)
	}
	if p.sub != "" {
		s += "." + p.sub
	}
	return s
}

// matchedFields returns the names of the fields of e that match; it stops at maxMatched names.
func (e *entry) matchedFields(p *pattern) (names []string) {
	for _, status := range e.statuses() {
		if p.matchWhole(status.text) {
			names = append(names, status.field)
		}
	}
	e.forTexts(func(at fieldPlace, text []byte) bool {
		if p.foundIn(text) {
			if name := at.String(); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return len(names) < maxMatched
	})
	return names
}

// status is a word that the server uses for the state of an object.
type status struct {
	field string
	text  []byte
}

// statuses returns the statuses that a search finds by their whole word.
func (e *entry) statuses() []status {
	switch e.kind {
	case argocd.Applications:
		return []status{{"health", e.health}, {"sync", e.sync}, {"operation", e.phase}, {"hydration", e.hydration}}
	case argocd.ApplicationSets:
		return []status{{"health", e.health}}
	case argocd.Clusters:
		return []status{{"connection", e.sync}}
	}
	return nil
}

// lastApplied is the annotation in which kubectl stores the object as it was sent. It is not searched: it repeats everything, in an earlier
// state.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// forTexts calls yield with every text of an entry that is searched, until it returns false. Texts that are shown masked are masked here too:
// otherwise a secret could be found out letter by letter, by patterns that match or do not match.
func (e *entry) forTexts(yield func(at fieldPlace, text []byte) bool) {
	going := true
	see := func(at fieldPlace, text []byte) {
		if going && len(text) > 0 {
			going = yield(at, text)
		}
	}
	see(newFieldPlace("name"), e.name)
	see(newFieldPlace("namespace"), e.namespace)
	see(newFieldPlace("project"), e.project)
	see(newFieldPlace("description"), maskSecrets("description", e.description))
	see(newFieldPlace("server"), maskAddress(e.server))
	var joined []byte
	for _, labels := range []struct {
		field string
		pairs []pair
		join  bool
	}{{"labels", e.labels, true}, {"annotations", e.annotations, false}} {
		for _, p := range labels.pairs {
			if string(p.key) == lastApplied {
				continue
			}
			at := fieldPlace{field: labels.field, i: -1, key: p.key}
			see(at, p.key)
			value := maskSecrets(string(p.key), p.value)
			see(at, value)
			if labels.join {
				joined = append(append(append(joined[:0], p.key...), '='), value...)
				see(at, joined)
			}
		}
	}
	template := ""
	if e.kind == argocd.ApplicationSets {
		template = "template."
		see(newFieldPlace("template.name"), maskSecrets("template", e.template))
	}
	for i, s := range e.sources {
		at := fieldPlace{field: template + "source", i: -1}
		if e.multi {
			at = fieldPlace{field: template + "sources", i: i}
		}
		s.forTexts(at, see)
	}
	e.to.forTexts(newFieldPlace(template+"destination"), see)
	for i, repo := range e.repos {
		repo = maskAddress(repo)
		if e.kind == argocd.ApplicationSets {
			see(newFieldPlace(e.repoFields[i]), repo)
		} else {
			see(fieldPlace{field: "sourceRepos", i: i}, repo)
		}
	}
	for i, d := range e.destinations {
		d.forTexts(fieldPlace{field: "destinations", i: i}, see)
	}
	for i, role := range e.roles {
		see(fieldPlace{field: "roles", i: i, sub: "name"}, role)
	}
	for i, namespace := range e.namespaces {
		see(fieldPlace{field: "namespaces", i: i}, namespace)
	}
}

// forTexts calls see with the place and text of each field of a source. Credentials in addresses are masked.
func (s source) forTexts(at fieldPlace, see func(fieldPlace, []byte)) {
	for _, one := range []struct {
		sub  string
		text []byte
	}{
		{"repoURL", maskAddress(s.repo)},
		{"path", s.path},
		{"chart", s.chart},
		{"targetRevision", s.revision},
		{"dry.repoURL", maskAddress(s.dryRepo)},
		{"dry.path", s.dryPath},
		{"dry.targetRevision", s.dryRevision},
		{"hydrateTo", s.hydrateTo},
	} {
		at.sub = one.sub
		see(at, one.text)
	}
}

// forTexts calls see with the place and text of each field of a destination. Credentials in the address are masked.
func (d destination) forTexts(at fieldPlace, see func(fieldPlace, []byte)) {
	for _, one := range []struct {
		sub  string
		text []byte
	}{{"server", maskAddress(d.server)}, {"name", d.name}, {"namespace", d.namespace}} {
		at.sub = one.sub
		see(at, one.text)
	}
}

// maskSecrets returns a text with secrets masked as the tools for single objects mask them; name is the field's. It is nil for an empty text.
func maskSecrets(name string, text []byte) []byte {
	if len(text) == 0 {
		return nil
	}
	before := string(text)
	if after := redact.Value(name, before); after != before {
		return []byte(after)
	}
	return text
}
