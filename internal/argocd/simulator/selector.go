package simulator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/lazy"
)

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

// parseSelector reads a selector. Its errors are like the server's.
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
