package query

import "github.com/itchyny/gojq"

// rewrite turns a query over the whole document into one over its items, in place: the path to the main array with the iteration behind it
// becomes a call of itemsFunction. It returns false if the query does not have that form; then the query must not be used for items.
//
// It is only done if the result is the same: `.` is the document at that place, the place is evaluated once, and nothing else in the query
// sees the document. So whatever gets the same input (the first argument of limit, the start of a reduce) must be a constant, and every
// other part gets the items or what was made of them.
func rewrite(q *gojq.Query, path []string) bool {
	if len(q.Imports) > 0 {
		return false
	}
	return rewriter{path: path}.rewriteQuery(q)
}

// A rewriter rewrites queries for a document whose main array is at path.
type rewriter struct {
	path []string
}

// generators are the functions that may enclose the items: how many arguments they have, which of them yields the items, and which must be
// constants. Any other argument gets an item as its input.
var generators = map[string]struct {
	arguments, items int
	constants        []int
}{
	"first":   {1, 0, nil},
	"last":    {1, 0, nil},
	"isempty": {1, 0, nil},
	"add":     {1, 0, nil},
	"any":     {2, 0, nil},
	"all":     {2, 0, nil},
	"limit":   {2, 1, []int{0}},
	"skip":    {2, 1, []int{0}},
	"nth":     {2, 1, []int{0}},
}

// rewriteQuery changes q to take the items of the main array one by one, and reports whether it could. If not, q may have been changed in part.
func (r rewriter) rewriteQuery(q *gojq.Query) bool {
	if q == nil {
		return false
	}
	for _, def := range q.FuncDefs {
		if _, taken := generators[def.Name]; taken || def.Name == "map" || def.Name == itemsFunction {
			return false // the query defines the function itself
		}
	}
	switch {
	case q.Term != nil:
		return r.rewriteTerm(q.Term)
	case q.Op != gojq.OpPipe || len(q.Patterns) > 0: // behind `as` the document is seen again
		return false
	}
	// `.a | .b[]` is the path in two steps.
	if rest, ok := r.steps(q.Left); ok {
		return rewriter{path: rest}.rewriteQuery(q.Right)
	}
	return r.rewriteQuery(q.Left)
}

// steps reports whether a query is nothing but a beginning of the path, and returns the rest of the path.
func (r rewriter) steps(q *gojq.Query) (rest []string, ok bool) {
	if q.Term == nil || len(q.FuncDefs) > 0 {
		return nil, false
	}
	rest, suffixes, ok := r.followPath(q.Term)
	return rest, ok && len(suffixes) == 0
}

// followPath follows a term along the path and returns the rest of the path and of the term's suffixes; ok is false if the term leaves the path.
func (r rewriter) followPath(t *gojq.Term) (rest []string, suffixes []*gojq.Suffix, ok bool) {
	rest, suffixes = r.path, t.SuffixList
	switch t.Type {
	case gojq.TermTypeIdentity:
	case gojq.TermTypeIndex:
		name, named := key(t.Index)
		if !named || len(rest) == 0 || rest[0] != name {
			return nil, nil, false
		}
		rest = rest[1:]
	default:
		return nil, nil, false
	}
	for len(suffixes) > 0 {
		s := suffixes[0]
		if s.Optional {
			suffixes = suffixes[1:]
			continue
		}
		if s.Index == nil || len(rest) == 0 {
			break
		}
		name, named := key(s.Index)
		if !named || rest[0] != name {
			return nil, nil, false
		}
		rest, suffixes = rest[1:], suffixes[1:]
	}
	return rest, suffixes, true
}

// key returns the member name in an index such as .name or ["name"]; false if it is a slice, a number or computed.
func key(i *gojq.Index) (string, bool) {
	switch {
	case i == nil || i.IsSlice || i.End != nil:
		return "", false
	case i.Name != "":
		return i.Name, true
	case i.Str != nil:
		return i.Str.Str, len(i.Str.Queries) == 0
	case i.Start != nil && i.Start.Term != nil && i.Start.Term.Type == gojq.TermTypeString && constant(i.Start):
		return i.Start.Term.Str.Str, true
	}
	return "", false
}

// rewriteTerm does for a term what rewriteQuery does for a query.
func (r rewriter) rewriteTerm(t *gojq.Term) bool {
	switch t.Type {
	case gojq.TermTypeIdentity, gojq.TermTypeIndex:
		rest, suffixes, ok := r.followPath(t)
		if !ok || len(rest) > 0 || len(suffixes) == 0 || !suffixes[0].Iter || !ignoresInput(suffixes) {
			return false
		}
		suffixes = suffixes[1:]
		for len(suffixes) > 0 && suffixes[0].Optional {
			suffixes = suffixes[1:]
		}
		*t = gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: itemsFunction}, SuffixList: suffixes}
		return true
	}
	if !ignoresInput(t.SuffixList) {
		return false
	}
	switch t.Type {
	case gojq.TermTypeArray:
		return t.Array.Query != nil && r.rewriteQuery(t.Array.Query)
	case gojq.TermTypeQuery:
		return r.rewriteQuery(t.Query)
	case gojq.TermTypeLabel:
		return r.rewriteQuery(t.Label.Body)
	case gojq.TermTypeReduce:
		return constant(t.Reduce.Start) && r.rewriteQuery(t.Reduce.Query)
	case gojq.TermTypeForeach:
		return constant(t.Foreach.Start) && r.rewriteQuery(t.Foreach.Query)
	case gojq.TermTypeFunc:
		return r.rewriteCall(t)
	}
	return false
}

// rewriteCall does for the call of a function what rewriteQuery does for a query. Only map and functions that pass items on can be changed.
func (r rewriter) rewriteCall(t *gojq.Term) bool {
	f := t.Func
	if f.Name == "map" && len(f.Args) == 1 && len(r.path) == 0 {
		// map(f) is [.[] | f], and `.` is the main array here.
		each := &gojq.Query{
			Left:  &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: itemsFunction}}},
			Op:    gojq.OpPipe,
			Right: f.Args[0],
		}
		*t = gojq.Term{Type: gojq.TermTypeArray, Array: &gojq.Array{Query: each}, SuffixList: t.SuffixList}
		return true
	}
	g, ok := generators[f.Name]
	if !ok || len(f.Args) != g.arguments {
		return false
	}
	for _, i := range g.constants {
		if !constant(f.Args[i]) {
			return false
		}
	}
	return r.rewriteQuery(f.Args[g.items])
}

// ignoresInput reports whether the suffixes of a term do not use the term's own input: an index in brackets does, unless it is a constant.
func ignoresInput(suffixes []*gojq.Suffix) bool {
	for _, s := range suffixes {
		i := s.Index
		if i == nil {
			continue
		}
		if i.Str != nil && len(i.Str.Queries) > 0 || i.Start != nil && !constant(i.Start) || i.End != nil && !constant(i.End) {
			return false
		}
	}
	return true
}

// constant reports whether a query has the same single value for every input.
func constant(q *gojq.Query) bool {
	if q == nil || q.Term == nil || len(q.FuncDefs) > 0 || len(q.Term.SuffixList) > 0 {
		return false
	}
	switch t := q.Term; t.Type {
	case gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber:
		return true
	case gojq.TermTypeString:
		return len(t.Str.Queries) == 0
	case gojq.TermTypeUnary:
		return t.Unary.Term.Type == gojq.TermTypeNumber && len(t.Unary.Term.SuffixList) == 0
	case gojq.TermTypeArray:
		return t.Array.Query == nil || constant(t.Array.Query)
	case gojq.TermTypeObject:
		for _, m := range t.Object.KeyVals {
			if m.KeyQuery != nil || m.KeyString != nil && len(m.KeyString.Queries) > 0 || !constant(m.Val) {
				return false
			}
		}
		return true
	}
	return false
}
