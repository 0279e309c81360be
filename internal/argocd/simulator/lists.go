package simulator

import (
	"net/http"
	"slices"
	"strconv"
)

// filter holds the conditions in the query of a list.
type filter struct {
	projects          []string
	name, repo, space string
	labels            selector
}

// wants reads the parameters that the server honours; it ignores all others.
func (c *call) wants() (filter, error) {
	f := filter{
		projects: append(slices.Clone(c.query["projects"]), c.query["project"]...),
		name:     c.query.Get("name"),
		repo:     c.query.Get("repo"),
		space:    c.query.Get("appNamespace"),
	}
	if text := c.query.Get("selector"); text != "" {
		var err error
		if f.labels, err = parseSelector(text); err != nil {
			return f, refuse(unknown, "error parsing the selector: %v", err)
		}
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
	if meta != "" && !metaLast {
		s.b = cat(s.b, `{"metadata":`, meta, `,"items":[`)
	} else {
		s.b = append(s.b, `{"items":[`...)
	}
	if !unread {
		all(s)
	}
	if s.items == 0 {
		s.b = append(s.b[:len(s.b)-1], "null"...)
	} else {
		s.b = append(s.b, ']')
	}
	if metaLast && meta != "" {
		s.b = cat(s.b, `,"metadata":`, meta)
	}
	s.b = append(s.b, '}')
	return s.end()
}

func (c *call) meta() string {
	return `{"resourceVersion":"` + strconv.FormatInt(c.revision.Load(), 10) + `"}`
}

func listApplications(c *call) error {
	f, err := c.wants()
	if err != nil {
		return err
	}
	chosen, whole, ok := c.selectFields(c.query.Get("fields"))
	if !ok {
		c.lists[applications].Add(1)
		c.w.Header().Set("Content-Type", "application/json")
		c.w.Header().Set("Grpc-Metadata-Content-Type", "application/grpc")
		c.w.WriteHeader(http.StatusInternalServerError)
		_, err := c.w.Write([]byte(`{"error": "failed to marshal error message"}`))
		return err
	}
	return c.list(applications, c.meta(), !whole, func(s *sink) {
		var a application
		c.eachApplication(&a, func(h *head, e *entry) bool {
			if !c.canRead(h.project) || !f.takes(h) {
				return true
			}
			if !s.item() {
				return false
			}
			switch {
			case whole && e == nil:
				s.b = c.writeApplication(s.b, &a)
			case whole:
				s.b = append(s.b, e.body...)
			case e == nil:
				s.b = chosen.write(s.b, c.leaf(&a, chosen))
			default:
				s.b = chosen.write(s.b, leafOf(e.body))
			}
			return true
		})
	})
}

func listProjects(c *call) error {
	p := prunes(c.query.Get("fields"))
	meta := c.meta()
	if p != nil {
		if keep, _ := p.keep("metadata"); !keep {
			meta = ""
		}
		if keep, _ := p.keep("items"); !keep {
			c.lists[projects].Add(1)
			if meta != "" {
				meta = `"metadata":` + meta
			}
			return c.answer([]byte(`{` + meta + `}`))
		}
	}
	return c.list(projects, meta, p != nil, func(s *sink) {
		var h head
		c.walk(projects, func(i int, e *entry) bool {
			if !c.canRead(c.headAt(projects, i, e, &h).name) {
				return true
			}
			if !s.item() {
				return false
			}
			body := c.bodyOf(found{kind: projects, index: i, entry: e})
			if p == nil {
				s.b = append(s.b, body...)
				return true
			}
			pruned, err := p.apply("items", body)
			s.b = append(s.b, pruned...)
			s.err = err
			return err == nil
		})
	})
}

func listSets(c *call) error {
	f, err := c.wants()
	if err != nil {
		return err
	}
	f.name, f.repo = "", ""
	if f.space = c.query.Get("appsetNamespace"); f.space == "" {
		f.space = c.query.Get("appSetNamespace")
	}
	return c.list(applicationsets, c.meta(), false, func(s *sink) {
		var kept head
		c.walk(applicationsets, func(i int, e *entry) bool {
			h := c.headAt(applicationsets, i, e, &kept)
			if !c.canRead(h.project) || !f.takes(h) {
				return true
			}
			if !s.item() {
				return false
			}
			s.b = append(s.b, c.bodyOf(found{kind: applicationsets, index: i, entry: e})...)
			return true
		})
	})
}

// headAt returns the head of an object that walk gives; into is used for a generated one.
func (s *Simulator) headAt(k kind, i int, e *entry, into *head) *head {
	if e != nil {
		return &e.head
	}
	s.generated[k].head(i, into)
	return into
}

func listClusters(c *call) error {
	name, server := c.query.Get("name"), c.query.Get("server")
	return c.list(clusters, "{}", false, func(s *sink) {
		if c.user != nil {
			return
		}
		for i := range c.clusters {
			cl := c.cluster(i)
			if name != "" && cl.name != name || server != "" && cl.server != server {
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
	s.b = append(s.b, `{"metadata":{},"items":[`...)
	if c.user == nil {
		for _, r := range c.repositories() {
			if !s.item() {
				return s.err
			}
			s.b = c.writeRepository(s.b, r)
		}
	}
	if s.items == 0 {
		s.b = append(s.b[:len(s.b)-1], "null}"...)
	} else {
		s.b = append(s.b, `]}`...)
	}
	return s.end()
}
