package inventory

import (
	"bytes"
	"strconv"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// readApplication reads an Application into the entry.
func (r *reader) readApplication(span rawjson.Span) {
	r.readFields(span,
		field{"metadata", r.readMetadata},
		field{"spec", r.readSpec},
		field{"status", []field{
			{"health", []field{{"status", &r.e.health}}},
			{"sync", []field{{"status", &r.e.sync}}},
			{"operationState", []field{{"phase", &r.e.phase}}},
			{"sourceHydrator", []field{{"currentOperation", []field{{"phase", &r.e.hydration}}}}},
		}},
	)
}

// readProject reads a project (AppProject) into the entry.
func (r *reader) readProject(span rawjson.Span) {
	r.readFields(span, field{"metadata", r.readMetadata}, field{"spec", []field{
		{"description", &r.e.description},
		{"sourceRepos", &r.e.repos},
		{"destinations", func(value rawjson.Span) {
			r.forElements(value, func(_ int, value rawjson.Span) { r.e.destinations = append(r.e.destinations, r.readDestination(value)) })
		}},
		{"roles", func(value rawjson.Span) {
			r.forElements(value, func(_ int, value rawjson.Span) {
				var name []byte
				r.readFields(value, field{"name", &name})
				r.e.roles = append(r.e.roles, name)
			})
		}},
		{"syncWindows", func(value rawjson.Span) { r.e.windows = r.countElements(value) }},
	}})
}

// readApplicationSet reads an ApplicationSet into the entry. All repositories of its generators count as its own.
func (r *reader) readApplicationSet(span rawjson.Span) {
	r.readFields(span,
		field{"metadata", r.readMetadata},
		field{"spec", []field{
			{"template", []field{{"metadata", []field{{"name", &r.e.template}}}, {"spec", r.readSpec}}},
			{"generators", func(value rawjson.Span) {
				r.e.generators = r.generatorNames(value, 0)
				r.collectRepositories(value, []byte("generators"), 0)
			}},
		}},
		field{"status", r.readApplicationSetStatus},
	)
}

// readApplicationSetStatus reads the health, the number of applications, and the message of an error that is present, into the entry.
func (r *reader) readApplicationSetStatus(span rawjson.Span) {
	resources, said := 0, -1
	r.readFields(span,
		field{"health", []field{{"status", &r.e.health}}},
		field{"resources", func(value rawjson.Span) { resources = r.countElements(value) }},
		field{"resourcesCount", &said}, // since 2.14; resources may be cut to fewer
		field{"conditions", func(value rawjson.Span) {
			r.forElements(value, func(_ int, value rawjson.Span) {
				var kind, status, message []byte
				r.readFields(value, field{"type", &kind}, field{"status", &status}, field{"message", &message})
				if string(kind) == "ErrorOccurred" && string(status) == "True" {
					r.e.trouble = message
				}
			})
		}},
	)
	r.e.applications = max(resources, said)
}

// maxNesting bounds the depth to which generators are read. Argo CD allows matrix and merge inside each other once: generators nest 3 deep,
// their JSON about 12.
const maxNesting = 64

// generatorNames returns the names of generators, those inside another in parentheses: "git", "matrix(git,clusters)".
func (r *reader) generatorNames(span rawjson.Span, depth int) (names [][]byte) {
	if depth == maxNesting {
		return nil
	}
	r.forElements(span, func(_ int, value rawjson.Span) {
		r.forMembers(value, func(key string, value rawjson.Span) {
			if key == "selector" { // a sibling of the generator
				return
			}
			name := []byte(key)
			r.forMembers(value, func(key string, value rawjson.Span) {
				if key == "generators" {
					inner := bytes.Join(r.generatorNames(value, depth+1), []byte(","))
					name = append(append(append(name, '('), inner...), ')')
				}
			})
			names = append(names, name)
		})
	})
	return names
}

// collectRepositories adds every repoURL below span to the entry, with the path to it. place is the path to span. What is nested deeper
// than maxNesting is not looked at.
func (r *reader) collectRepositories(span rawjson.Span, place []byte, depth int) {
	if depth == maxNesting {
		return
	}
	place = place[:len(place):len(place)]
	r.forElements(span, func(i int, value rawjson.Span) {
		at := append(strconv.AppendInt(append(place, '['), int64(i), 10), ']')
		r.collectRepositories(value, at, depth+1)
	})
	r.forMembers(span, func(key string, value rawjson.Span) {
		at := append(append(place, '.'), key...)
		if key == "repoURL" {
			if url := r.stringAt(value); len(url) > 0 {
				r.e.repos, r.e.repoFields = append(r.e.repos, url), append(r.e.repoFields, string(at))
			}
			return
		}
		r.collectRepositories(value, at, depth+1)
	})
}

// readCluster reads a cluster into the entry; newer servers have some of its fields in "info" only.
func (r *reader) readCluster(span rawjson.Span) {
	r.readFields(span,
		field{"name", &r.e.name}, field{"server", &r.e.server}, field{"project", &r.e.project},
		field{"labels", &r.e.labels}, field{"annotations", &r.e.annotations}, field{"namespaces", &r.e.namespaces},
		field{"serverVersion", r.readVersion}, field{"connectionState", r.readConnection},
		field{"info", []field{{"applicationsCount", &r.e.applications}, {"serverVersion", r.readVersion}, {"connectionState", r.readConnection}}},
	)
}

// readVersion and connection read members that are at the top and, since 1.8, in info; those at the top are
// deprecated.
func (r *reader) readVersion(span rawjson.Span) {
	if v := r.stringAt(span); len(v) > 0 {
		r.e.version = v
	}
}

// readConnection reads the status and the message of a cluster's connection into the entry; empty ones do not replace what it has.
func (r *reader) readConnection(span rawjson.Span) {
	r.forMembers(span, func(key string, value rawjson.Span) {
		switch t := r.stringAt(value); {
		case len(t) == 0:
		case key == "status":
			r.e.sync = t
		case key == "message":
			r.e.trouble = t
		}
	})
}
