package simulator

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/lazy"
)

// filter holds the conditions in the query of a list.
type filter struct {
	projects          []string
	name, repo, space string
	labels            selector
}

// filterFor reads the parameters that the server honours for a kind; it ignores all others. A selector that cannot be parsed refuses the
// call.
func (c *call) filterFor(k kind) (f filter) {
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
		refuseCall(unknown, "error parsing the selector: %v", err)
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

// answerList counts a request for a list, and answers with the frame of a list around the objects that all writes: "items" is null when
// there are none. meta is the list's metadata, "" for none. With metaLast it follows the items, as where fields were selected. A list that
// is not read yet has no items and no version.
func (c *call) answerList(k kind, meta string, metaLast bool, all func(s *sink)) {
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

// listObjects returns the handler of a list of a kind, with the filters and the parameter fields that the server honours for it.
func listObjects(k kind) func(*call) {
	return func(c *call) {
		f, meta, fields, write := c.filterFor(k), c.meta(), c.query.Get("fields"), (*found).write
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
		c.answerList(k, meta, fields != "", func(s *sink) {
			c.forObjects(k, func(o *found) {
				if c.canRead(o.project) && f.takes(&o.head) {
					s.beginItem()
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

// requirement is one part of a label selector, in the grammar of Kubernetes,
// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors.
type requirement struct {
	key, operator string // "" asks for the key alone
	values        []string
}

type selector []requirement

func (s selector) matches(labels []label) bool {
	return !slices.ContainsFunc(s, func(r requirement) bool {
		at := slices.IndexFunc(labels, func(l label) bool { return l.key == r.key })
		return at < 0 && !r.holds("", false) || at >= 0 && !r.holds(labels[at].value, true)
	})
}

// holds reports whether a label meets the requirement; has says whether the label is there.
func (r *requirement) holds(value string, has bool) bool {
	switch r.operator {
	case "", "!":
		return has == (r.operator == "")
	case "in", "=", "==":
		return has && slices.Contains(r.values, value)
	case "notin", "!=":
		return !has || !slices.Contains(r.values, value)
	}
	have, err := strconv.ParseInt(value, 10, 64)
	want, bad := strconv.ParseInt(r.values[0], 10, 64)
	return has && err == nil && bad == nil && (r.operator == ">" && have > want || r.operator == "<" && have < want)
}

// maxSelector bounds a selector in bytes; the server's own bound is that of a URL.
const maxSelector = 64 << 10

var (
	// requirements begin a selector: !key, key, key=value, key in (a, b).
	requirements = lazy.Regexp(`^\s*(?:(!)\s*([^\s=!(),<>]+)|([^\s=!(),<>]+)(?:\s*(==|=|!=|<|>)\s*([^\s=!(),<>]*)|\s+(in|notin)\s*\(([^()=!<>]*)\))?)\s*(,|$)`)
	tokens       = lazy.Regexp(`^\s*([^\s=!(),<>]*)\s*([=!(),<>]*)`)
)

// parseSelector parses a label selector of at most maxSelector bytes. Its errors are like the server's.
func parseSelector(text string) (s selector, err error) {
	if len(text) > maxSelector {
		return nil, fmt.Errorf("unable to parse requirement: %d bytes, at most %d are read", len(text), maxSelector)
	}
	for more := strings.TrimSpace(text) != ""; more; {
		found := requirements().FindStringSubmatch(text)
		if found == nil {
			token, expected := tokens().FindStringSubmatch(text), "in, notin, =, ==, !=, gt, lt"
			if token[1] == "" {
				expected = "identifier"
			}
			return nil, fmt.Errorf("unable to parse requirement: found '%s', expected: %s", token[2], expected)
		}
		r := requirement{found[2] + found[3], found[1] + found[4] + found[6], []string{found[5]}}
		if found[6] != "" {
			r.values = strings.Split(found[7], ",")
			for i := range r.values {
				r.values[i] = strings.TrimSpace(r.values[i])
			}
		}
		s, text, more = append(s, r), text[len(found[0]):], found[8] == ","
	}
	return s, nil
}
