package toolset

import (
	"encoding/json"
	"fmt"
)

// forOptions adapts a tool's schema to the options: the argument "instance" lists the instances if there are several and is left out if
// there is one, "fresh" is there only where listings are kept, and rarely used arguments only with Options.AllArguments. A call that sends
// them is still accepted. Every argument costs the model tokens in each of its requests.
func (t *Toolset) forOptions(tool string, schema json.RawMessage) json.RawMessage {
	var whole, properties map[string]json.RawMessage
	if json.Unmarshal(schema, &whole) != nil || json.Unmarshal(whole["properties"], &properties) != nil {
		return schema
	}
	if t.o.Inventory.SnapshotTTL <= 0 {
		delete(properties, "fresh")
	}
	if !t.o.AllArguments {
		for _, name := range rareArguments(tool) {
			delete(properties, name)
		}
	}
	if _, has := properties["instance"]; has {
		delete(properties, "instance")
		if len(t.o.Instances) > 1 {
			properties["instance"] = t.instances()
		}
	}
	inner, err := json.Marshal(properties)
	if err != nil {
		return schema
	}
	whole["properties"] = inner
	changed, err := json.Marshal(whole)
	if err != nil {
		return schema
	}
	return changed
}

// instances returns the schema of the argument "instance", with the names of all instances.
func (t *Toolset) instances() json.RawMessage {
	names := make([]string, len(t.o.Instances))
	for i, c := range t.o.Instances {
		names[i] = c.Name()
	}
	schema, err := json.Marshal(struct {
		Type        string   `json:"type"`
		Description string   `json:"description"`
		Enum        []string `json:"enum"`
	}{"string", fmt.Sprintf("Which Argo CD to ask (default %q)", names[0]), names})
	if err != nil { // does not happen with strings
		return json.RawMessage(`{"type":"string"}`)
	}
	return schema
}
