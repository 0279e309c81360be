package inventory

import (
	"bytes"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/secrets"
)

// maxSources bounds the sources, and maxListed the values of other lists, in a row, which counts the others.
const (
	maxSources = 20
	maxListed  = 2
)

// row returns the summary of an object as flat JSON, usually some hundred bytes; it shares no memory with the object. Empty fields are left out.
//
// "dest" has the cluster (its address, or its name if only that was given) and the namespace with a space between; it is an object if that would
// be ambiguous. "rev" is the target revision; "sources" is there for applications with several; "operation" is left out when it is Succeeded,
// "hydration" when it is Hydrated; "hydrate_to" is the branch that is written before the one that is synced. A status that is not set is "none".
// Fields that a server does not return in a list with named fields, such as the conditions of an application, are never in a row: reading
// summaries takes a sixth of the bytes.
func (e *entry) row() []byte {
	w := &writer{b: make([]byte, 0, 512)}
	w.writeRaw("{")
	w.addTextOrEmpty("name", e.name)
	switch e.kind {
	case argocd.Applications:
		w.addText("namespace", e.namespace)
		w.addTextOrEmpty("project", e.project)
		w.addTextOrEmpty("health", statusOrNone(e.health))
		w.addTextOrEmpty("sync", statusOrNone(e.sync))
		w.addDestination(e.to)
		e.writeSources(w)
		if string(e.phase) != "Succeeded" {
			w.addText("operation", e.phase)
		}
		if string(e.hydration) != "Hydrated" {
			w.addText("hydration", e.hydration)
		}
	case argocd.Projects:
		w.addText("description", displayText(e.description))
		w.addTextList("repos", convertAll(e.repos, maskAddress), maxListed)
		w.addTextList("destinations", e.compactDestinations(), maxListed)
		w.addNumber("roles", len(e.roles))
		w.addNumber("sync_windows", e.windows)
	case argocd.ApplicationSets:
		w.addText("namespace", e.namespace)
		w.addTextOrEmpty("project", e.project)
		w.addTextList("generators", e.generators, maxSources)
		w.addText("template", []byte(secrets.Text(string(shortText(e.template)))))
		e.writeSources(w)
		w.addText("health", e.health)
		w.writeKey("applications")
		w.writeInt(e.applications)
		w.addText("error", displayText(e.trouble))
	case argocd.Clusters:
		w.addTextOrEmpty("server", maskAddress(e.server))
		w.addText("version", e.version)
		w.addTextOrEmpty("connection", statusOrNone(e.sync))
		if string(e.sync) != "Successful" {
			w.addText("message", displayText(e.trouble))
		}
		w.addText("project", e.project)
		w.writeKey("applications")
		w.writeInt(e.applications)
		w.addTextList("namespaces", e.namespaces, maxListed)
	}
	if e.deleting {
		w.writeKey("deleting")
		w.writeRaw("true")
	}
	w.writeRaw("}")
	return w.b
}

// statusOrNone returns the status, or "none" if it is not set.
func statusOrNone(status []byte) []byte {
	if len(status) == 0 {
		return []byte("none")
	}
	return status
}

func convertAll(list [][]byte, f func([]byte) []byte) [][]byte {
	out := make([][]byte, len(list))
	for i, one := range list {
		out[i] = f(one)
	}
	return out
}

// compact returns a destination as "CLUSTER NAMESPACE", with the cluster's server or name; nil if that would be ambiguous. It takes 24 bytes less
// than an object, which makes room for one more application on a page of 20.
func (d destination) compact() []byte {
	cluster := maskAddress(d.server)
	switch {
	case len(d.server) == 0:
		cluster = d.name
	case len(d.name) > 0:
		return nil
	}
	if len(cluster) == 0 || len(d.namespace) == 0 || bytes.IndexByte(cluster, ' ') >= 0 {
		return nil
	}
	return bytes.Join([][]byte{cluster, d.namespace}, []byte(" "))
}

// addDestination adds the member "dest", as text or as an object: see entry.row.
func (w *writer) addDestination(d destination) {
	if plain := d.compact(); plain != nil {
		w.addText("dest", plain)
		return
	}
	w.writeKey("dest")
	w.writeRaw("{")
	w.addText("server", maskAddress(d.server))
	w.addText("name", d.name)
	w.addText("namespace", d.namespace)
	w.writeRaw("}")
}

// compactDestinations returns the destinations of a project as "CLUSTER NAMESPACE", with * for any.
func (e *entry) compactDestinations() [][]byte {
	list := make([][]byte, len(e.destinations))
	star := func(value []byte) []byte {
		if len(value) == 0 {
			return []byte("*")
		}
		return value
	}
	for i, d := range e.destinations {
		cluster := maskAddress(d.server)
		if len(cluster) == 0 {
			cluster = d.name
		}
		list[i] = bytes.Join([][]byte{star(cluster), star(d.namespace)}, []byte(" "))
	}
	return list
}

// writeSources writes a single source as members of the row, and several as the member "sources", at most maxSources of them.
func (e *entry) writeSources(w *writer) {
	if !e.multi {
		if len(e.sources) == 1 {
			e.sources[0].writeFields(w)
		}
		return
	}
	w.writeKey("sources")
	w.writeRaw("[")
	for i, s := range e.sources[:min(maxSources, len(e.sources))] {
		if i > 0 {
			w.writeRaw(",")
		}
		w.writeRaw("{")
		s.writeFields(w)
		w.writeRaw("}")
	}
	w.writeRaw("]")
	w.addNumber("more_sources", max(0, len(e.sources)-maxSources))
}

// writeFields writes the fields of a source that are not empty. Credentials in the address of the repository are masked.
func (s source) writeFields(w *writer) {
	w.addText("repo", maskAddress(s.repo))
	w.addText("path", s.path)
	w.addText("chart", s.chart)
	w.addText("rev", s.revision)
	w.addText("ref", s.ref)
	w.addText("hydrate_to", s.hydrateTo)
}
