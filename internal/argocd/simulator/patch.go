package simulator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mergePatch applies RFC 7396.
func mergePatch(m, patch obj) {
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(m, key)
		case obj:
			mergePatch(ensureObject(m, key), v)
		default:
			m[key] = v
		}
	}
}

// step is one operation of a JSON patch.
type step struct {
	Op, Path string
	Value    any
}

// apply applies add, replace, remove and test of RFC 6902.
func (s *step) apply(root any) (any, error) {
	if s.Path == "" {
		return s.Value, nil
	}
	parts := strings.Split(s.Path, "/")[1:]
	for i := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[i])
	}
	return s.intn(root, parts)
}

func (s *step) intn(at any, parts []string) (any, error) {
	key, last := parts[0], len(parts) == 1
	missing := fmt.Errorf("%s operation does not apply: doc is missing path: %q: missing value", s.Op, s.Path)
	switch v := at.(type) {
	case obj:
		next, ok := v[key]
		if !last {
			if !ok {
				return nil, missing
			}
			changed, err := s.intn(next, parts[1:])
			v[key] = changed
			return v, err
		}
		switch {
		case s.Op == "add":
			v[key] = s.Value
		case !ok:
			return nil, missing
		case s.Op == "remove":
			delete(v, key)
		case s.Op == "replace":
			v[key] = s.Value
		case !same(next, s.Value):
			return nil, fmt.Errorf("testing value %s failed: test failed", s.Path)
		}
		return v, nil
	case []any:
		i, err := strconv.Atoi(key)
		if key == "-" && last && s.Op == "add" {
			return append(v, s.Value), nil
		}
		if err != nil || i < 0 || i > len(v) || i == len(v) && (!last || s.Op != "add") {
			return nil, missing
		}
		if !last {
			v[i], err = s.intn(v[i], parts[1:])
			return v, err
		}
		switch s.Op {
		case "add":
			return slices.Insert(v, i, s.Value), nil
		case "remove":
			return slices.Delete(v, i, i+1), nil
		case "replace":
			v[i] = s.Value
		}
		return v, nil
	}
	return nil, missing
}

// maxSteps bounds a JSON patch.
const maxSteps = 1000

func patchApplication(c *call) error {
	var q struct{ Patch, PatchType, AppNamespace, Project string }
	if err := c.read(&q); err != nil {
		return err
	}
	t, done, err := c.forWriting(q.AppNamespace, q.Project, "update")
	if err != nil {
		return err
	}
	defer done()
	switch q.PatchType {
	case "merge":
		patch, err := parse([]byte(q.Patch))
		if err != nil {
			return refuse(unknown, "error calculating merge patch: Invalid JSON Patch")
		}
		mergePatch(t.m, patch)
	case "json", "":
		var steps []step
		dec := json.NewDecoder(strings.NewReader(q.Patch))
		dec.UseNumber()
		if err := dec.Decode(&steps); err != nil {
			return refuse(unknown, "error decoding json patch: %v", err)
		}
		if len(steps) > maxSteps {
			return refuse(invalidArgument, "error applying patch: %d operations, at most %d", len(steps), maxSteps)
		}
		var root any = t.m
		for i := range steps {
			if !slices.Contains([]string{"add", "remove", "replace", "test"}, steps[i].Op) || !strings.HasPrefix(steps[i].Path, "/") {
				return refuse(unknown, "error applying patch: Unexpected kind: %s", steps[i].Op)
			}
			if root, err = steps[i].apply(root); err != nil {
				return refuse(unknown, "error applying patch: %v", err)
			}
		}
	default:
		return refuse(invalidArgument, "Patch type '%s' is not supported", q.PatchType)
	}
	ensureObject(t.m, "metadata")["name"], ensureObject(t.m, "metadata")["namespace"] = t.name, t.namespace
	if err := c.valid(t.m); err != nil {
		return err
	}
	return c.saved(t)
}
