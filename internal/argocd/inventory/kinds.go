package inventory

import (
	"bytes"
	"strconv"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

func (r *reader) application(span rawjson.Span) {
	r.members(span, func(key string, value rawjson.Span) {
		switch key {
		case "metadata":
			r.metadata(value)
		case "spec":
			r.spec(value)
		case "status":
			r.members(value, func(key string, value rawjson.Span) {
				switch key {
				case "health":
					r.e.health = r.status(value)
				case "sync":
					r.e.sync = r.status(value)
				case "operationState":
					r.members(value, func(key string, value rawjson.Span) {
						if key == "phase" {
							r.e.phase = r.text(value)
						}
					})
				case "sourceHydrator":
					r.members(value, func(key string, value rawjson.Span) {
						if key == "currentOperation" {
							r.members(value, func(key string, value rawjson.Span) {
								if key == "phase" {
									r.e.hydration = r.text(value)
								}
							})
						}
					})
				}
			})
		}
	})
}

func (r *reader) proj(span rawjson.Span) {
	r.members(span, func(key string, value rawjson.Span) {
		switch key {
		case "metadata":
			r.metadata(value)
		case "spec":
			r.members(value, func(key string, value rawjson.Span) {
				switch key {
				case "description":
					r.e.description = r.text(value)
				case "sourceRepos":
					r.e.repos = r.texts(value)
				case "destinations":
					r.elements(value, func(_ int, value rawjson.Span) {
						r.e.destinations = append(r.e.destinations, r.destination(value))
					})
				case "roles":
					r.elements(value, func(_ int, value rawjson.Span) {
						var name []byte
						r.members(value, func(key string, value rawjson.Span) {
							if key == "name" {
								name = r.text(value)
							}
						})
						r.e.roles = append(r.e.roles, name)
					})
				case "syncWindows":
					r.e.windows = r.count(value)
				}
			})
		}
	})
}

func (r *reader) applicationSet(span rawjson.Span) {
	r.members(span, func(key string, value rawjson.Span) {
		switch key {
		case "metadata":
			r.metadata(value)
		case "spec":
			r.members(value, func(key string, value rawjson.Span) {
				switch key {
				case "template":
					r.members(value, func(key string, value rawjson.Span) {
						switch key {
						case "metadata":
							r.members(value, func(key string, value rawjson.Span) {
								if key == "name" {
									r.e.template = r.text(value)
								}
							})
						case "spec":
							r.spec(value)
						}
					})
				case "generators":
					r.e.generators = r.generators(value, 0)
					r.repositories(value, []byte("generators"), 0)
				}
			})
		case "status":
			r.applicationSetStatus(value)
		}
	})
}

func (r *reader) applicationSetStatus(span rawjson.Span) {
	resources, said := 0, -1
	r.members(span, func(key string, value rawjson.Span) {
		switch key {
		case "health":
			r.e.health = r.status(value)
		case "resources":
			resources = r.count(value)
		case "resourcesCount": // since 2.14; resources may be cut to fewer
			said = r.number(value)
		case "conditions":
			r.elements(value, func(_ int, value rawjson.Span) {
				var kind, status, message []byte
				r.members(value, func(key string, value rawjson.Span) {
					switch key {
					case "type":
						kind = r.text(value)
					case "status":
						status = r.text(value)
					case "message":
						message = r.text(value)
					}
				})
				if string(kind) == "ErrorOccurred" && string(status) == "True" {
					r.e.trouble = message
				}
			})
		}
	})
	r.e.applications = max(resources, said)
}

// maxNesting bounds the depth to which generators are read. Argo CD allows matrix and merge inside each other once: generators nest 3 deep,
// their JSON about 12.
const maxNesting = 64

// generators returns the names of generators: "git", "matrix(git,clusters)".
func (r *reader) generators(span rawjson.Span, depth int) (names [][]byte) {
	if depth == maxNesting {
		return nil
	}
	r.elements(span, func(_ int, value rawjson.Span) {
		r.members(value, func(key string, value rawjson.Span) {
			if key == "selector" { // a sibling of the generator
				return
			}
			name := []byte(key)
			r.members(value, func(key string, value rawjson.Span) {
				if key == "generators" {
					inner := bytes.Join(r.generators(value, depth+1), []byte(","))
					name = append(append(append(name, '('), inner...), ')')
				}
			})
			names = append(names, name)
		})
	})
	return names
}

// repositories collects every repoURL below span, with its field.
func (r *reader) repositories(span rawjson.Span, place []byte, depth int) {
	if depth == maxNesting {
		return
	}
	place = place[:len(place):len(place)]
	r.elements(span, func(i int, value rawjson.Span) {
		at := append(strconv.AppendInt(append(place, '['), int64(i), 10), ']')
		r.repositories(value, at, depth+1)
	})
	r.members(span, func(key string, value rawjson.Span) {
		at := append(append(place, '.'), key...)
		if key == "repoURL" {
			if url := r.text(value); len(url) > 0 {
				r.e.repos, r.e.repoFields = append(r.e.repos, url), append(r.e.repoFields, string(at))
			}
			return
		}
		r.repositories(value, at, depth+1)
	})
}

func (r *reader) cluster(span rawjson.Span) {
	r.members(span, func(key string, value rawjson.Span) {
		switch key {
		case "name":
			r.e.name = r.text(value)
		case "server":
			r.e.server = r.text(value)
		case "project":
			r.e.project = r.text(value)
		case "labels":
			r.e.labels = r.pairs(value)
		case "annotations":
			r.e.annotations = r.pairs(value)
		case "namespaces":
			r.e.namespaces = r.texts(value)
		case "serverVersion":
			r.version(value)
		case "connectionState":
			r.connection(value)
		case "info":
			r.members(value, func(key string, value rawjson.Span) {
				switch key {
				case "applicationsCount":
					r.e.applications = r.number(value)
				case "serverVersion":
					r.version(value)
				case "connectionState":
					r.connection(value)
				}
			})
		}
	})
}

// version and connection read members that are at the top and, since 1.8, in info; those at the top are
// deprecated.
func (r *reader) version(span rawjson.Span) {
	if v := r.text(span); len(v) > 0 {
		r.e.version = v
	}
}

func (r *reader) connection(span rawjson.Span) {
	r.members(span, func(key string, value rawjson.Span) {
		switch t := r.text(value); {
		case len(t) == 0:
		case key == "status":
			r.e.sync = t
		case key == "message":
			r.e.trouble = t
		}
	})
}
