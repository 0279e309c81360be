// Package toolset has the MCP tools that agents use with Argo CD. No answer of the tools can flood a model, and every number in an answer is exact.
//
//	set, err := toolset.New(toolset.Options{Instances: []*argocd.Client{client}})
//	server, err := builtin.New(builtin.Options{Name: "argocd", Tools: set.Tools(), Instructions: set.Instructions()})
//
// Lists give pages of short rows, 20 unless asked for more, 100 at most, with counts over all that matches; search_argocd_resources looks through
// everything; others read one object and what belongs to it. Those that change something are there with [Options].AllowWrites only, and answer with
// a plan until they are told the name of the object again. Names, arguments and keys of answers are those of the Python server that came before. A
// default answer stays below 10,000 bytes: where that is too little all rows lose the same fields, and a note says so. Whole objects have no such
// bound, so the tools stand behind the gateway. An answer that would be incomplete is an error that says how to go on.
//
// With [TokensAllow] and [TokensRequire] a client's own token is used, so that Argo CD's rules decide; what one credential has read is never shown
// to another. Everything may be called from any goroutine. Nothing is kept between calls but what [inventory.Options].SnapshotTTL allows.
package toolset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// MaxInstances bounds the instances of a [Toolset]: the schema of every tool has their names.
const MaxInstances = 64

// Options configure a [Toolset].
type Options struct {
	// Instances are the clients of the Argo CD servers, with names that differ in more than case; the first is the default. There must be
	// at least one and at most [MaxInstances]. The caller closes them.
	Instances []*argocd.Client
	// Inventory bounds listing and searching; the zero value works.
	Inventory inventory.Options
	// AllowWrites adds the tools that change something.
	AllowWrites bool
	// AllArguments shows every argument in the schemas; else rarely used ones are accepted and not shown.
	AllArguments bool
	// UserTokens says which token a call is made with.
	UserTokens TokenPolicy
	// UserHeader is the header with a user's own token; "" means [DefaultUserHeader]. If a request does not have it, its bearer token is
	// used.
	UserHeader string
	// Journal may be nil.
	Journal *journal.Journal
}

// Toolset has the tools and what they share. Its methods, and the tools, may be called from any goroutine.
type Toolset struct {
	o         Options
	inventory *inventory.Inventory
	tools     []builtin.Tool
}

// New returns the tools for these options. It opens no connection. The error names the option that is wrong and its value.
func New(o Options) (*Toolset, error) {
	switch n := len(o.Instances); {
	case n == 0:
		return nil, errors.New("no Argo CD instance: at least one is needed")
	case n > MaxInstances:
		return nil, fmt.Errorf("%d Argo CD instances are more than %d: start a second server for the others", n, MaxInstances)
	}
	taken := map[string]bool{}
	for i, c := range o.Instances {
		if c == nil {
			return nil, fmt.Errorf("instance %d of Argo CD is missing", i+1)
		}
		name := strings.ToLower(c.Name())
		if taken[name] {
			return nil, fmt.Errorf("two Argo CD instances are called %q: give one of them another name", c.Name())
		}
		taken[name] = true
	}
	if o.UserTokens < TokensOff || o.UserTokens > TokensRequire {
		return nil, fmt.Errorf("no policy for users' tokens has the number %d: use TokensOff, TokensAllow or TokensRequire", o.UserTokens)
	}
	if o.UserHeader == "" {
		o.UserHeader = DefaultUserHeader
	}
	t := &Toolset{o: o, inventory: inventory.New(o.Inventory)}
	t.tools = append(t.readTools(), t.detailTools()...)
	if o.AllowWrites {
		t.tools = append(t.tools, t.writeTools()...)
	}
	for i := range t.tools {
		t.tools[i].Input = t.forOptions(t.tools[i].Name, t.tools[i].Input)
	}
	return t, nil
}

// Close ends the passes that run and removes what was kept of lists.
func (t *Toolset) Close() error { return t.inventory.Close() }

// Stats returns the inventory's counts about its bounds.
func (t *Toolset) Stats() inventory.Stats { return t.inventory.Stats() }

// Tools returns all tools; those that write only with AllowWrites. Their schemas have the argument "instance" only if there are several,
// and "fresh" only if listings are kept.
func (t *Toolset) Tools() []builtin.Tool { return slices.Clone(t.tools) }

// reads are the hints of a tool that changes nothing. Argo CD is an external system, so it is open world.
var reads = builtin.Hints{ReadOnly: true, Idempotent: true, OpenWorld: true}

// readTools returns the tools that list and search.
func (t *Toolset) readTools() []builtin.Tool {
	return []builtin.Tool{
		t.listApplicationsTool(),
		t.listProjectsTool(),
		t.listApplicationSetsTool(),
		t.listClustersTool(),
		t.searchTool(),
	}
}

// Instructions returns the introduction to the tools that a client gets when it connects.
func (t *Toolset) Instructions() string {
	var b strings.Builder
	b.WriteString(`Tools for Argo CD. Every number they give is exact: counts and totals are over all objects, not over a page.

How to go about it:
- How many, how healthy, what is out of sync: list_applications; page 1 has all totals in "summary". Filter with health, sync, project, cluster, selector.
- Find something by a part of a name, label, repository, path or cluster: search_argocd_resources. It searches everything, every time.
- More than a page: make the call that "next" gives. Pages have 20 items, at most 100.
- One application: get_application_details, then get_application_resource_tree, get_application_managed_resources (what differs), application_service__list_resource_events, application_service__pod_logs.
- An answer is an error when the data could not be read whole; nothing partial is shown as whole. Values shown as ******** are secrets and cannot be read.
`)
	if len(t.o.Instances) > 1 {
		fmt.Fprintf(&b, "\nThere are several Argo CD instances: %s. The argument instance says which; answers name theirs.\n", t.instanceNames())
	}
	if t.o.AllowWrites {
		b.WriteString("\nTools that change something do nothing until confirm is the name of the object: without it they answer with what would happen.\n")
	} else {
		b.WriteString("\nNothing can be changed here: the tools only read.\n")
	}
	if t.o.UserTokens == TokensRequire {
		fmt.Fprintf(&b, "\nCalls are made with the user's own Argo CD token (header %s, or a bearer token).\n", t.o.UserHeader)
	}
	return b.String()
}

// Every tool and every argument costs a model tokens in each of its requests. The tools and arguments below are accepted and, unless
// the options ask for all, not shown.

// Rare returns the tools that are rarely needed, and those whose work others do as well: they are not listed, and can still be called.
func Rare() []string {
	return []string{
		"application_set_service__generate", "repository_list", "account_service__can_i", "account_service__list_accounts", "account_service__get_account",
		"certificate_service__list_certificates", "application_service__list_links", "gpg_key_service__list", "gpg_key_service__get", "version_service__version",
		"list_resource_actions",
		"applicationset_create", "applicationset_service__delete", "project_create", "project_update", "project_delete",
	}
}

// rareArguments returns the arguments that a tool accepts without showing them: other names for an argument, arguments without an effect,
// and further filters.
func rareArguments(tool string) []string {
	rare := []string{
		"summary_only", "app_namespace", "refresh", "version", "group", "resource_uid", "match_case", "timestamps", "follow", "follow_seconds", "until",
		"param_id_type", "param_id_value", "id_type",
	}
	if !slices.Contains([]string{"list_applications", "search_argocd_resources", "create_application", "update_application"}, tool) {
		rare = append(rare, "project")
	}
	if tool == "get_application_details" { // here refresh has an effect; Argo CD allows it to everybody who may read
		rare = slices.DeleteFunc(rare, func(name string) bool { return name == "refresh" })
	}
	return rare
}

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
			properties["instance"] = t.instanceSchema()
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

// instanceSchema returns the schema of the argument "instance", with the names of all instances.
func (t *Toolset) instanceSchema() json.RawMessage {
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
