package bridge

import (
	"encoding/json"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// tasksExtension is the name of tasks in the capabilities of 2026-07-28.
const tasksExtension = "io.modelcontextprotocol/tasks"

// clientCapabilities are the capabilities of a client that servers can use.
type clientCapabilities struct {
	roots, sampling, form, url bool
}

// readClientCapabilities reads the raw capabilities of a client of either kind of version. An empty elicitation object means forms.
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

// lacks reports whether the client has not declared the capability that a request of the server needs.
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

// isClientRequest reports whether a method is one by which servers ask a client.
func isClientRequest(method string) bool {
	return method == "roots/list" || method == "sampling/createMessage" || method == "elicitation/create"
}

// modernCapabilities returns the capabilities of a legacy client as a modern server gets them: without tasks, and without the listChanged of
// roots, for which there is no notification.
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

// legacyCapabilities returns the capabilities of a modern server as a legacy client gets them: without tasks, which differ between versions.
func legacyCapabilities(capabilities []byte) ([]byte, error) {
	if !isObject(capabilities) {
		return []byte("{}"), nil
	}
	return withoutTasks(capabilities)
}

// withoutTasks returns capabilities without tasks, in either place where they are declared.
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

// readServerCapabilities reads which notifications a server offers; none if the capabilities are invalid.
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

// codeNotFound is the code for a missing resource up to 2025-11-25.
const codeNotFound = -32002
