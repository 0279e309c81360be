package bridge

import (
	"encoding/json"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// tasksExtension is the name of tasks in 2026-07-28.
const tasksExtension = "io.modelcontextprotocol/tasks"

// clientCapabilities are the capabilities of a client that a server can make use of.
type clientCapabilities struct {
	roots, sampling, form, url bool
}

// readClientCapabilities reads client capabilities of either protocol version. An elicitation object without
// members means forms, in both.
func readClientCapabilities(capabilities []byte) clientCapabilities {
	var a clientCapabilities
	for m, err := range members(capabilities) {
		if err != nil {
			return a
		}
		switch string(m.Key) {
		case "roots":
			a.roots = true
		case "sampling":
			a.sampling = true
		case "elicitation":
			v := m.Value.Of(capabilities)
			if !isObject(v) {
				continue
			}
			a.form = isEmpty(v)
			for n, err := range rawjson.Members(v, 0) {
				if err != nil {
					break
				}
				a.form = a.form || string(n.Key) == "form"
				a.url = a.url || string(n.Key) == "url"
			}
		}
	}
	return a
}

// lacks reports whether a request of a server needs of the client what it did not declare.
func (a clientCapabilities) lacks(method string, params []byte) bool {
	switch method {
	case "roots/list":
		return !a.roots
	case "sampling/createMessage":
		return !a.sampling
	case "elicitation/create":
		if mode, _ := rawjson.Text(params, "mode"); mode == "url" {
			return !a.url
		}
		return !a.form
	}
	return false
}

// isClientRequest reports whether a method is one that a server may ask a client for.
func isClientRequest(method string) bool {
	return method == "roots/list" || method == "sampling/createMessage" || method == "elicitation/create"
}

// modernCapabilities makes capabilities of a legacy client ones for a modern server: roots lose
// listChanged, which has no notification there, and tasks are gone.
func modernCapabilities(capabilities []byte) ([]byte, error) {
	if !isObject(capabilities) {
		return []byte("{}"), nil
	}
	out, err := withoutTasks(capabilities)
	if err != nil {
		return nil, err
	}
	if roots := rawjson.Get(out, "roots"); !roots.IsZero() && out[roots.Start] == '{' {
		v, err := rawjson.Remove(roots.Of(out), "listChanged")
		if err != nil {
			return nil, err
		}
		return rawjson.Set(out, "roots", v)
	}
	return out, nil
}

// legacyCapabilities makes capabilities of a server of one protocol version ones for a client of the other.
// Tasks do not cross: their messages differ in each protocol version.
func legacyCapabilities(capabilities []byte) ([]byte, error) {
	if !isObject(capabilities) {
		return []byte("{}"), nil
	}
	return withoutTasks(capabilities)
}

func withoutTasks(capabilities []byte) ([]byte, error) {
	out, err := rawjson.Remove(capabilities, "tasks")
	if err != nil {
		return nil, err
	}
	v := rawjson.Get(out, "extensions")
	if v.IsZero() || out[v.Start] != '{' {
		return out, nil
	}
	extensions, err := rawjson.Remove(v.Of(out), tasksExtension)
	if err != nil {
		return nil, err
	}
	if isEmpty(extensions) {
		return rawjson.Remove(out, "extensions")
	}
	return rawjson.Set(out, "extensions", extensions)
}

// serverCapabilities are the capabilities of a server that subscriptions depend on.
type serverCapabilities struct {
	tools, prompts, resources, subscribe bool
}

func readServerCapabilities(capabilities []byte) serverCapabilities {
	var c struct {
		Tools, Prompts, Resources *struct {
			ListChanged, Subscribe bool
		}
	}
	_ = json.Unmarshal(capabilities, &c) // what cannot be read is not offered
	var o serverCapabilities
	o.tools = c.Tools != nil && c.Tools.ListChanged
	o.prompts = c.Prompts != nil && c.Prompts.ListChanged
	o.resources = c.Resources != nil && c.Resources.ListChanged
	o.subscribe = c.Resources != nil && c.Resources.Subscribe
	return o
}

// codeNotFound is of a resource, until 2025-11-25.
const codeNotFound = -32002
