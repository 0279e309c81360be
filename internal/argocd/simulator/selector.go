package simulator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// requirement is one part of a label selector, in the grammar of Kubernetes,
// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors.
type requirement struct {
	key, operator string
	values        []string
}

type selector []requirement

func (s selector) matches(labels []label) bool {
	for _, r := range s {
		value, has := "", false
		for _, l := range labels {
			if l.key == r.key {
				value, has = l.value, true
			}
		}
		if !r.holds(value, has) {
			return false
		}
	}
	return true
}

func (r *requirement) holds(value string, has bool) bool {
	switch r.operator {
	case "exists":
		return has
	case "!":
		return !has
	case "in":
		return has && slices.Contains(r.values, value)
	case "notin":
		return !has || !slices.Contains(r.values, value)
	}
	have, err := strconv.ParseInt(value, 10, 64)
	want, bad := strconv.ParseInt(r.values[0], 10, 64)
	if !has || err != nil || bad != nil {
		return false
	}
	if r.operator == ">" {
		return have > want
	}
	return have < want
}

// maxSelector bounds a selector in bytes; the server's own bound is that of a URL.
const maxSelector = 64 << 10

// parseSelector reads a selector. Its errors are in the words of the server's.
func parseSelector(text string) (selector, error) {
	if len(text) > maxSelector {
		return nil, fmt.Errorf("unable to parse requirement: %d bytes, at most %d are read", len(text), maxSelector)
	}
	p := &selectorParser{rest: text}
	p.advance()
	var s selector
	for p.token != "" {
		r, err := p.requirement()
		if err != nil {
			return nil, err
		}
		s = append(s, r)
		switch p.token {
		case "":
		case ",":
			p.advance()
			if p.token == "" || p.token == "," {
				return nil, fmt.Errorf("found '%s', expected: identifier after ','", p.token)
			}
		default:
			return nil, fmt.Errorf("found '%s', expected: ',' or 'end of string'", p.token)
		}
	}
	return s, nil
}

type selectorParser struct{ rest, token string }

const special = "=!(),<>"

func (p *selectorParser) advance() {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	if p.rest == "" {
		p.token = ""
		return
	}
	for _, op := range []string{"==", "!="} {
		if strings.HasPrefix(p.rest, op) {
			p.token, p.rest = op, p.rest[len(op):]
			return
		}
	}
	if strings.IndexByte(special, p.rest[0]) >= 0 {
		p.token, p.rest = p.rest[:1], p.rest[1:]
		return
	}
	end := strings.IndexAny(p.rest, special+" \t\r\n")
	if end < 0 {
		end = len(p.rest)
	}
	p.token, p.rest = p.rest[:end], p.rest[end:]
}

func (p *selectorParser) word() bool {
	return p.token != "" && strings.IndexByte(special, p.token[0]) < 0
}

func (p *selectorParser) requirement() (requirement, error) {
	r := requirement{operator: "exists"}
	if p.token == "!" {
		r.operator = "!"
		p.advance()
	}
	if !p.word() {
		return r, fmt.Errorf("unable to parse requirement: found '%s', expected: identifier", p.token)
	}
	r.key = p.token
	p.advance()
	if r.operator == "!" {
		return r, nil
	}
	switch op := p.token; op {
	case "", ",":
		return r, nil
	case "=", "==", "!=", "<", ">":
		r.operator = op
		switch op {
		case "=", "==":
			r.operator = "in"
		case "!=":
			r.operator = "notin"
		}
		p.advance()
		value := ""
		if p.word() {
			value = p.token
			p.advance()
		} else if p.token != "" && p.token != "," {
			return r, fmt.Errorf("unable to parse requirement: found '%s', expected: identifier", p.token)
		}
		r.values = []string{value}
		return r, nil
	case "in", "notin":
		r.operator = op
		p.advance()
		return r, p.values(&r)
	default:
		return r, fmt.Errorf("unable to parse requirement: found '%s', expected: in, notin, =, ==, !=, gt, lt", op)
	}
}

func (p *selectorParser) values(r *requirement) error {
	if p.token != "(" {
		return fmt.Errorf("unable to parse requirement: found '%s' expected: '('", p.token)
	}
	for {
		p.advance()
		if p.word() {
			r.values = append(r.values, p.token)
			p.advance()
		} else {
			r.values = append(r.values, "")
		}
		switch p.token {
		case ",":
		case ")":
			p.advance()
			return nil
		default:
			return fmt.Errorf("unable to parse requirement: found '%s', expected: ',', or ')'", p.token)
		}
	}
}
