package bridge

import (
	"encoding/json"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
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

// missing gives what a request of a server needs of the client and the client did not
// declare, as raw capabilities, and nil when there is nothing.
func (a clientCapabilities) missing(method string, params []byte) []byte {
	switch method {
	case "roots/list":
		if !a.roots {
			return []byte(`{"roots":{}}`)
		}
	case "sampling/createMessage":
		if !a.sampling {
			return []byte(`{"sampling":{}}`)
		}
	case "elicitation/create":
		mode, _ := rawjson.Text(params, "mode")
		switch {
		case mode == "url" && !a.url:
			return []byte(`{"elicitation":{"url":{}}}`)
		case mode != "url" && !a.form:
			return []byte(`{"elicitation":{"form":{}}}`)
		}
	}
	return nil
}

// asks says whether a method is one that a server may ask a client for.
func asks(method string) bool {
	return method == "roots/list" || method == "sampling/createMessage" || method == "elicitation/create"
}

// clientDown makes capabilities of a modern client ones for a legacy server. Tasks are not
// declared: this bridge asks for none.
func clientDown(capabilities []byte) ([]byte, error) {
	if !isObject(capabilities) {
		return []byte("{}"), nil
	}
	return withoutTasks(capabilities)
}

// clientUp makes capabilities of a legacy client ones for a modern server: roots lose
// listChanged, which has no notification there, and tasks are gone.
func clientUp(capabilities []byte) ([]byte, error) {
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

// serverAcross makes capabilities of a server of one protocol version ones for a client of the other.
// Tasks do not cross: their messages differ in each protocol version.
func serverAcross(capabilities []byte) ([]byte, error) {
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

// serverCapabilities are the capabilities of a server that subscriptions and logging depend on.
type serverCapabilities struct {
	tools, prompts, resources, subscribe, logging bool
}

func readServerCapabilities(capabilities []byte) serverCapabilities {
	var c struct {
		Tools, Prompts, Resources *struct {
			ListChanged, Subscribe bool
		}
		Logging json.RawMessage
	}
	_ = json.Unmarshal(capabilities, &c) // what cannot be read is not offered
	var o serverCapabilities
	o.tools = c.Tools != nil && c.Tools.ListChanged
	o.prompts = c.Prompts != nil && c.Prompts.ListChanged
	o.resources = c.Resources != nil && c.Resources.ListChanged
	o.subscribe = c.Resources != nil && c.Resources.Subscribe
	o.logging = len(c.Logging) > 0 && string(c.Logging) != "null"
	return o
}

// Error codes that only one protocol version has.
const (
	codeNotFound   = -32002 // resource not found, until 2025-11-25
	codeURLInvited = -32042 // URL elicitation required, 2025-11-25 only
)

// codeDown makes an error code of a legacy server one that 2026-07-28 allows: -32002 became
// -32602, and what else lies in the range that it reserves has no meaning there.
func codeDown(code int64) int {
	switch {
	case code == codeNotFound:
		return jsonrpc.CodeParams
	case code >= -32099 && code <= -32020:
		return jsonrpc.CodeInternal
	}
	return int(code)
}
