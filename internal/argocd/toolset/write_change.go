package toolset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd/redact"
)

// change is one value that an update replaces. From and To are JSON, cut and with secrets masked.
type change struct {
	Path string `json:"path"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// maxNesting bounds the depth of a changed value. A manifest stays below 30; for each level the whole path is built when differences are
// listed.
const maxNesting = 200

// decodeTree decodes JSON and keeps numbers as they are written; an error for deeper nesting than maxNesting.
func decodeTree(raw []byte) (any, error) {
	if nestingDepth(raw) > maxNesting {
		return nil, fmt.Errorf("the JSON is nested deeper than %d", maxNesting)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the end of the JSON value")
	}
	return v, nil
}

// nestingDepth returns the depth of the brackets in raw, without those in strings.
func nestingDepth(raw []byte) (deepest int) {
	depth, text, escaped := 0, false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case text:
			escaped, text = c == '\\', c != '"'
		case c == '"':
			text = true
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// object is an argument that is an object of any form. Its numbers stay as they are written, and it keeps nulls, which have a meaning in a
// merge patch.
type object map[string]any

// UnmarshalJSON also accepts an object that is written as a string, as some models do.
func (o *object) UnmarshalJSON(raw []byte) error {
	v, err := decodeTree(raw)
	if text, ok := v.(string); ok && err == nil {
		v, err = decodeTree([]byte(text))
	}
	if err != nil {
		return err
	}
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		return fmt.Errorf("it is %s and not an object", shortJSON(v))
	}
	*o = m
	return nil
}

// compact encodes v as JSON without escaping <, > and &.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// mergePatch returns onto with a merge patch applied, as RFC 7396 says. It changes neither argument.
func mergePatch(onto, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	if o, ok := onto.(map[string]any); ok {
		maps.Copy(out, o)
	}
	for k, v := range p {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = mergePatch(out[k], v)
		}
	}
	return out
}

// differences returns the first maxListed differences between two objects, and the number of all. The values themselves are compared, and
// shown with secrets masked.
func differences(before, after any) (list []change, all int, err error) {
	shownBefore, err := maskSecrets(before)
	if err != nil {
		return nil, 0, err
	}
	shownAfter, err := maskSecrets(after)
	if err != nil {
		return nil, 0, err
	}
	walkDifferences("", before, after, shownBefore, shownAfter, func(c change) {
		if all++; all <= maxListed {
			list = append(list, c)
		}
	})
	return list, all, nil
}

// maskSecrets returns v, decoded JSON, as a new tree with secrets masked.
func maskSecrets(v any) (any, error) {
	raw, err := compact(v)
	if err != nil {
		return nil, err
	}
	if raw, _, err = redact.Mask(raw); err != nil {
		return nil, err
	}
	return decodeTree(raw)
}

// walkDifferences calls found for each difference between before and after, which are at path. shownBefore and shownAfter are the same values with
// secrets masked. Arrays of different lengths are one difference.
func walkDifferences(path string, before, after, shownBefore, shownAfter any, found func(change)) {
	b, bok := before.(map[string]any)
	a, aok := after.(map[string]any)
	if bok && aok {
		for _, k := range keysOf(b, a) {
			walkDifferences(strings.TrimPrefix(path+"."+k, "."), b[k], a[k], memberOf(shownBefore, k), memberOf(shownAfter, k), found)
		}
		return
	}
	bs, bok := before.([]any)
	as, aok := after.([]any)
	if bok && aok && len(bs) == len(as) {
		for i := range bs {
			walkDifferences(fmt.Sprintf("%s[%d]", path, i), bs[i], as[i], elementOf(shownBefore, i), elementOf(shownAfter, i), found)
		}
		return
	}
	if equalJSON(before, after) {
		return
	}
	found(change{Path: cutText(path), From: shortJSON(shownBefore), To: shortJSON(shownAfter)})
}

// memberOf returns the value to show for a key of v; if v was masked as a whole, the mask.
func memberOf(v any, key string) any {
	if m, ok := v.(map[string]any); ok {
		return m[key]
	}
	return v
}

// elementOf returns element i of an array, nil if it is shorter. Anything but an array, such as a mask, is returned itself.
func elementOf(v any, i int) any {
	if s, ok := v.([]any); ok {
		if i < len(s) {
			return s[i]
		}
		return nil
	}
	return v
}

func equalJSON(a, b any) bool {
	x, errX := compact(a)
	y, errY := compact(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// shortJSON returns v as short JSON; "" for nil.
func shortJSON(v any) string {
	if v == nil {
		return ""
	}
	raw, err := compact(v)
	if err != nil {
		return ""
	}
	return cutText(string(raw))
}

// refuseMask returns an error if a string in v contains the mask of a secret: an agent that writes back what it was shown would replace the secret
// by its mask.
func refuseMask(path string, v any) error {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, redact.Hidden) {
			return fmt.Errorf("the value at %s is the mask of a secret (%s), not the secret: leave it out to keep what is there", path, redact.Hidden)
		}
	case map[string]any:
		for k, child := range v {
			if err := refuseMask(strings.TrimPrefix(path+"."+k, "."), child); err != nil {
				return err
			}
		}
	case []any:
		for i, child := range v {
			if err := refuseMask(fmt.Sprintf("%s[%d]", path, i), child); err != nil {
				return err
			}
		}
	}
	return nil
}

// diffView shows differences; All is the number of all.
type diffView struct {
	Changes []change `json:"changes"`
	All     int      `json:"all"`
}

// describe describes the effect of an update on the object named what.
func (v *diffView) describe(what string) string {
	switch v.All {
	case 0:
		return "nothing to change: " + what + " has these values already"
	case 1:
		return "change a value of " + what
	}
	return fmt.Sprintf("change %d values of %s", v.All, what)
}

// newDiffView returns the differences between two objects for an answer: the first of them, and the number of all.
func newDiffView(before, after any) (*diffView, error) {
	list, all, err := differences(before, after)
	if err != nil {
		return nil, err
	}
	return &diffView{Changes: list, All: all}, nil
}

// setValue sets a value in nested objects, which it creates if needed.
func setValue(into map[string]any, value any, path ...string) {
	for _, key := range path[:len(path)-1] {
		next, ok := into[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			into[key] = next
		}
		into = next
	}
	into[path[len(path)-1]] = value
}

// valueAt returns the value below the keys; nil if there is none.
func valueAt(v any, path ...string) any {
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}
