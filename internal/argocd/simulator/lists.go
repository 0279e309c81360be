package simulator

import (
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
func (c *call) wants(k kind) (f filter, err error) {
	switch k {
	case projects:
		return f, nil
	case applications:
		f.name, f.repo, f.space = c.query.Get("name"), c.query.Get("repo"), c.query.Get("appNamespace")
	case applicationsets:
		if f.space = c.query.Get("appsetNamespace"); f.space == "" {
			f.space = c.query.Get("appSetNamespace")
		}
	}
	f.projects = append(slices.Clone(c.query["projects"]), c.query["project"]...)
	if f.labels, err = parseSelector(c.query.Get("selector")); err != nil {
		return f, refuse(unknown, "error parsing the selector: %v", err)
	}
	return f, nil
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
func (c *call) list(k kind, meta string, metaLast bool, all func(s *sink)) error {
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
	return s.end()
}

func (c *call) meta() string {
	return `{"resourceVersion":"` + strconv.FormatInt(c.revision.Load(), 10) + `"}`
}

func listObjects(k kind) func(*call) error {
	return func(c *call) error {
		f, err := c.wants(k)
		if err != nil {
			return err
		}
		write, meta := func(b []byte, o *found) ([]byte, error) { return o.write(b), nil }, c.meta()
		fields := c.query.Get("fields")
		switch {
		case fields == "" || k == applicationsets:
			fields = ""
		case k == applications:
			chosen, ok := c.selectFields(fields)
			if !ok {
				return c.failFields()
			}
			write = chosen.write
		default:
			p := pruning(strings.Split(fields, ","))
			write = p.write
			if keep, _ := p.keep("metadata"); !keep {
				meta = ""
			}
			if keep, _ := p.keep("items"); !keep {
				c.lists[k].Add(1)
				if meta != "" {
					meta = `"metadata":` + meta
				}
				return c.answer([]byte(`{` + meta + `}`))
			}
		}
		return c.list(k, meta, fields != "", func(s *sink) {
			c.walk(k, func(o *found) bool {
				if !c.canRead(o.project) || !f.takes(&o.head) {
					return true
				}
				if s.item() {
					s.b, s.err = write(s.b, o)
				}
				return s.err == nil
			})
		})
	}
}

// failFields answers a list of applications as 3.5.1 does where it fails to build the answer.
func (c *call) failFields() error {
	c.lists[applications].Add(1)
	s := c.sink()
	c.w.WriteHeader(http.StatusInternalServerError)
	s.b = append(s.b, `{"error": "failed to marshal error message"}`...)
	return s.end()
}

func listClusters(c *call) error {
	name, server := c.query.Get("name"), c.query.Get("server")
	return c.list(clusters, "{}", false, func(s *sink) {
		if c.user != nil {
			return
		}
		for i := range c.clusters {
			cl := c.cluster(i)
			if name != "" && cl.Name != name || server != "" && cl.Server != server {
				continue
			}
			if !s.item() {
				return
			}
			s.b = c.writeCluster(s.b, cl)
		}
	})
}

func listRepositories(c *call) error {
	s := c.sink()
	s.b = append(s.b, `{"metadata":{},"items":`...)
	s.array(func() {
		if c.user != nil {
			return
		}
		for _, r := range c.repositories() {
			if !s.item() {
				return
			}
			s.b = c.render(s.b, "repository", &r, 0, dice{})
		}
	})
	s.b = append(s.b, '}')
	return s.end()
}
