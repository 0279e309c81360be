package toolset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd/redact"
)

const (
	maxDiffLines = 200 // of one resource; further ones are only counted
	maxDiffDepth = 64  // manifests nest about 12 deep
)

// differ compares two manifests and collects a line for each value that differs:
//
//	~ spec.replicas: 3 → 5
//	+ spec.template.spec.containers[app].env[DEBUG]: {"name":"DEBUG","value":"1"}
//	- metadata.labels.team: "payments"
//
// The left side is the live state, the right one the desired state. The values themselves are compared, and shown with
// secrets masked. Elements of arrays are compared by name if they have one, as the API server merges them.
type differ struct {
	lines []string
	all   int
	// subset only reports values that the right side has: the live state has defaults that no manifest in Git names.
	subset bool
}

// diffManifests compares two manifests as JSON, either of which may be empty or null, and returns at most maxDiffLines lines and the number of all
// differences. subset is differ.subset.
func diffManifests(live, desired string, subset bool) (lines []string, all int, err error) {
	l, shownL, err := manifest(live)
	if err != nil {
		return nil, 0, fmt.Errorf("the live state: %w", err)
	}
	r, shownR, err := manifest(desired)
	if err != nil {
		return nil, 0, fmt.Errorf("the desired state: %w", err)
	}
	d := differ{subset: subset}
	d.compareValues("", l, r, shownL, shownR, 0)
	return d.lines, d.all, nil
}

// manifest returns the value of a manifest without members that only machines read, and the same with secrets masked.
func manifest(text string) (value, shown any, err error) {
	if absent(text) {
		return nil, nil, nil
	}
	if value, err = decodeTree([]byte(text)); err != nil {
		return nil, nil, err
	}
	if metadata, ok := valueAt(value, "metadata").(map[string]any); ok {
		delete(metadata, "managedFields")
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		}
	}
	slim, _, err := redact.Slim([]byte(text), redact.Keep{History: true, HelmValues: true, APIVersions: true})
	if err != nil {
		return nil, nil, err
	}
	shown, err = decodeTree(slim)
	return value, shown, err
}

// absent reports whether a state is missing, which Argo CD writes as null.
func absent(state string) bool {
	state = strings.TrimSpace(state)
	return state == "" || state == "null" || state == "{}"
}

// compareValues adds a line for each difference between l and r, which are at path. shownL and shownR are the same values with secrets masked.
func (d *differ) compareValues(path string, l, r, shownL, shownR any, depth int) {
	lm, lok := l.(map[string]any)
	rm, rok := r.(map[string]any)
	if lok && rok && depth < maxDiffDepth {
		for _, key := range keysOf(lm, rm) {
			d.compareMember(strings.TrimPrefix(path+"."+key, "."), key, lm, rm, shownL, shownR, depth)
		}
		return
	}
	la, lok := l.([]any)
	ra, rok := r.([]any)
	if lok && rok && depth < maxDiffDepth {
		d.compareArrays(path, la, ra, shownL, shownR, depth)
		return
	}
	if !equalJSON(l, r) {
		d.addLine("~", path, shortJSON(shownL)+" → "+shortJSON(shownR), equalJSON(shownL, shownR))
	}
}

// compareMember compares one member of two objects. If d.subset is set, one that only l has is no difference.
func (d *differ) compareMember(path, key string, l, r map[string]any, shownL, shownR any, depth int) {
	lv, inL := l[key]
	rv, inR := r[key]
	switch {
	case inL && inR:
		d.compareValues(path, lv, rv, memberOf(shownL, key), memberOf(shownR, key), depth+1)
	case inR:
		d.addLine("+", path, shortJSON(memberOf(shownR, key)), false)
	case !d.subset:
		d.addLine("-", path, shortJSON(memberOf(shownL, key)), false)
	}
}

// compareArrays compares by name if all elements have unique names, else by position.
func (d *differ) compareArrays(path string, l, r []any, shownL, shownR any, depth int) {
	ln, lok := byElementName(l)
	rn, rok := byElementName(r)
	if !lok || !rok {
		for i := range max(len(l), len(r)) {
			at := fmt.Sprintf("%s[%d]", path, i)
			switch {
			case i < len(l) && i < len(r):
				d.compareValues(at, l[i], r[i], elementOf(shownL, i), elementOf(shownR, i), depth+1)
			case i < len(r):
				d.addLine("+", at, shortJSON(elementOf(shownR, i)), false)
			default:
				d.addLine("-", at, shortJSON(elementOf(shownL, i)), false)
			}
		}
		return
	}
	for _, name := range keysOf(ln, rn) {
		at := fmt.Sprintf("%s[%s]", path, name)
		i, inL := ln[name]
		j, inR := rn[name]
		switch {
		case inL && inR:
			d.compareValues(at, l[i], r[j], elementOf(shownL, i), elementOf(shownR, j), depth+1)
		case inR:
			d.addLine("+", at, shortJSON(elementOf(shownR, j)), false)
		default:
			d.addLine("-", at, shortJSON(elementOf(shownL, i)), false)
		}
	}
}

// addLine counts a difference, and adds a line for it unless there are maxDiffLines. masked says that both sides look the same with their secrets
// masked.
func (d *differ) addLine(sign, path, what string, masked bool) {
	if d.all++; d.all > maxDiffLines {
		return
	}
	if masked {
		what += " (differs; secrets are masked)"
	}
	d.lines = append(d.lines, sign+" "+clip(path, 400)+": "+what)
}

// keysOf returns the keys of both maps, sorted.
func keysOf[V any](a, b map[string]V) []string {
	keys := make([]string, 0, len(a)+len(b))
	for key := range a {
		keys = append(keys, key)
	}
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// byElementName returns the positions of the elements by name; ok is false if an element has no name, or two have the same.
func byElementName(list []any) (at map[string]int, ok bool) {
	at = make(map[string]int, len(list))
	for i, e := range list {
		m, isMap := e.(map[string]any)
		name, named := m["name"].(string)
		if _, twice := at[name]; !isMap || !named || twice {
			return nil, false
		}
		at[name] = i
	}
	return at, true
}
