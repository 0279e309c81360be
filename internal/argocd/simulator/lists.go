package simulator

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// filter holds the conditions in the query of a list.
type filter struct {
	projects          []string
	name, repo, space string
	labels            selector
}

// wants reads the parameters that the server honours for a kind; it ignores all others.
func (c *call) wants(k kind) (f filter) {
	switch k {
	case projects:
		return f
	case applications:
		f.name, f.repo, f.space = c.query.Get("name"), c.query.Get("repo"), c.query.Get("appNamespace")
	case applicationsets:
		f.space = cmp.Or(c.query.Get("appsetNamespace"), c.query.Get("appSetNamespace"))
	}
	f.projects = append(slices.Clone(c.query["projects"]), c.query["project"]...)
	var err error
	if f.labels, err = parseSelector(c.query.Get("selector")); err != nil {
		fail(unknown, "error parsing the selector: %v", err)
	}
	return f
}

func (f *filter) takes(h *head) bool {
	return (len(f.projects) == 0 || slices.Contains(f.projects, h.project)) &&
		(f.name == "" || f.name == h.name) &&
		(f.repo == "" || len(h.repos) > 0 && h.repos[0] == f.repo) && // of further sources the server knows nothing here
		(f.space == "" || f.space == h.namespace) &&
		f.labels.matches(h.labels)
}

// list writes the frame of a list around the objects that all writes: "items" is null when
// there are none. With metaLast the metadata follows, as where fields were selected.
func (c *call) list(k kind, meta string, metaLast bool, all func(s *sink)) {
	c.lists[k].Add(1)
	s := c.sink()
	s.list = true
	unread := c.halfStarted()
	if unread && meta != "" {
		meta = "{}" // no version before the cache is filled
	}
	s.b = append(s.b, '{')
	if meta != "" && !metaLast {
		s.b = cat(s.b, `"metadata":`, meta, `,`)
	}
	s.b = append(s.b, `"items":`...)
	s.array(func() {
		if !unread {
			all(s)
		}
	})
	if meta != "" && metaLast {
		s.b = cat(s.b, `,"metadata":`, meta)
	}
	s.b = append(s.b, '}')
	s.flush()
}

func (c *call) meta() string {
	return `{"resourceVersion":"` + strconv.FormatInt(c.revision.Load(), 10) + `"}`
}

func listObjects(k kind) func(*call) {
	return func(c *call) {
		f, meta, fields, write := c.wants(k), c.meta(), c.query.Get("fields"), (*found).write
		switch {
		case fields == "" || k == applicationsets:
			fields = ""
		case k == applications:
			chosen, ok := c.selectFields(fields)
			if !ok {
				c.failFields()
				return
			}
			write = func(o *found, b []byte) []byte { return chosen.write(b, o) }
		default:
			p := pruning(strings.Split(fields, ","))
			write = func(o *found, b []byte) []byte { return p.write(b, o) }
			if keep, _ := p.keep("metadata"); !keep {
				meta = ""
			}
			if keep, _ := p.keep("items"); !keep {
				c.lists[k].Add(1)
				if meta != "" {
					meta = `"metadata":` + meta
				}
				c.answer([]byte(`{` + meta + `}`))
				return
			}
		}
		c.list(k, meta, fields != "", func(s *sink) {
			c.walk(k, func(o *found) {
				if c.canRead(o.project) && f.takes(&o.head) {
					s.item()
					s.b = write(o, s.b)
				}
			})
		})
	}
}

// failFields answers a list of applications as 3.5.1 does where it fails to build the answer.
func (c *call) failFields() {
	c.lists[applications].Add(1)
	s := c.sink()
	c.w.WriteHeader(http.StatusInternalServerError)
	s.b = append(s.b, `{"error": "failed to marshal error message"}`...)
	s.flush()
}
