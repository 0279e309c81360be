package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// writeTools returns the tools that change something. Each changes nothing until it gets the name of the object as confirmation: without it
// the answer is the plan.
func (t *Toolset) writeTools() []builtin.Tool {
	tools := []builtin.Tool{
		t.syncTool(), t.terminateTool(), t.rollbackTool(), t.refreshTool(),
		t.createApplicationTool(), t.updateApplicationTool(), t.deleteApplicationTool(),
		t.resourceActionTool(),
		t.projectCreateTool(), t.projectUpdateTool(), t.projectDeleteTool(),
		t.applicationSetCreateTool(), t.applicationSetDeleteTool(),
	}
	// The argument names of the Python server are accepted too.
	oldNames := formerApplication(map[string]string{
		"param_name": "name", "metadata_name": "name", "metadata_namespace": "namespace",
		"param_appsetNamespace": "namespace", "param_upsert": "upsert", "param_dryRun": "dry_run",
	})
	for i, typed := range tools {
		if typed.Run == nil {
			continue
		}
		tools[i].Run = func(ctx context.Context, c *builtin.Call) (*builtin.Result, error) {
			renamed := *c
			renamed.Arguments = rename(c.Arguments, oldNames)
			return typed.Run(ctx, &renamed)
		}
	}
	return tools
}

// confirmation holds the argument confirm, and is embedded in the arguments of every tool that changes something.
type confirmation struct {
	Confirm string `json:"confirm,omitempty" jsonschema:"the object's name, to do it. Without it nothing changes and the plan is shown"`
}

// needsConfirmation is appended to each description: clients show it to the person who allows a call.
const needsConfirmation = " Changes nothing without confirm=NAME: the answer is then the plan."

// confirmed reports whether the change to the object of this name was confirmed. A confirmation with another name is an error: it was meant
// for another object.
func (s confirmation) confirmed(client *argocd.Client, name string) (bool, error) {
	switch s.Confirm {
	case "":
		return false, nil
	case name, client.Name() + "/" + name:
		return true, nil
	}
	return false, fmt.Errorf("confirm is %q and the object is %q: nothing was changed; send confirm=%q (or %q) to do it", cut(s.Confirm), name, name, client.Name()+"/"+name)
}

// writeTool returns a tool that changes something: before run is called it finds the client, and whether the change to the object of this
// name was confirmed.
func writeTool[A interface {
	instanceName() string
	confirmed(*argocd.Client, string) (bool, error)
}](t *Toolset, tool builtin.Tool, object func(A) string,
	run func(ctx context.Context, c *builtin.Call, client *argocd.Client, confirmed bool, in A) (*builtin.Result, error),
) builtin.Tool {
	return builtin.Typed(tool, func(ctx context.Context, c *builtin.Call, in A) (*builtin.Result, error) {
		client, err := t.clientFor(c, in.instanceName())
		if err != nil {
			return nil, err
		}
		confirmed, err := in.confirmed(client, object(in))
		if err != nil {
			return nil, err
		}
		return run(ctx, c, client, confirmed, in)
	})
}

// maxEcho bounds the arguments that a plan repeats, in bytes: those of a usual call are smaller, a whole specification is not.
const maxEcho = 2 << 10

// plan is the answer to a call that was not confirmed.
type plan struct {
	Changed  bool     `json:"changed"` // always false
	Plan     string   `json:"plan"`
	Instance string   `json:"instance"`
	Warnings []string `json:"warnings,omitempty"`
	Current  any      `json:"current,omitempty"`
	Change   any      `json:"change,omitempty"`
	// Do is the call that confirms the plan.
	Do suggestedCall `json:"to_do_it"`
}

// suggestedCall is a call that an answer suggests.
type suggestedCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Add is used instead of Arguments if those are large: the call has the same arguments and these.
	Add map[string]string `json:"the_same_arguments_and,omitempty"`
}

// planResult answers c with the plan p for the object of this name. without names the arguments that the suggested call leaves out, such as
// dry_run.
func planResult(c *builtin.Call, client *argocd.Client, name string, p plan, without ...string) (*builtin.Result, error) {
	p.Instance = client.Name()
	p.Do = suggestedCall{Tool: c.Tool}
	args, err := rawjson.Remove(c.Arguments, without...)
	if err == nil {
		args, err = rawjson.Set(args, "confirm", rawjson.Quote(nil, name))
	}
	if err == nil && len(args) <= maxEcho {
		p.Do.Arguments = args
	} else {
		p.Do.Add = map[string]string{"confirm": name}
	}
	return builtin.JSON(p)
}

// changeResult is the answer to a call that was confirmed.
type changeResult struct {
	Changed  bool     `json:"changed"` // false if everything is as before
	Done     string   `json:"done"`
	Instance string   `json:"instance"`
	Warnings []string `json:"warnings,omitempty"`
	State    any      `json:"state,omitempty"`
	Change   any      `json:"change,omitempty"`
	Next     string   `json:"next,omitempty"`
	looked   bool     // the call has changed nothing
}

// doneResult returns the answer d with Instance and Changed set. Changed is false if the call only looked, or if the objects before and
// after do not differ.
func doneResult(client *argocd.Client, d changeResult) (*builtin.Result, error) {
	view, compared := d.Change.(*diffView)
	d.Changed, d.Instance = !d.looked && (!compared || view.All > 0), client.Name()
	return builtin.JSON(d)
}

// maxShown bounds the characters of one value, and maxListed the entries of one list, in plans and answers, which a
// model reads.
const (
	maxShown  = 200
	maxListed = 20
)

// cut shortens a value to maxShown characters.
func cut(s string) string {
	return limit.ShortRunes(s, maxShown+1)
}

// firstEntries returns the first maxListed entries of a list, and the number of the others as a last entry.
func firstEntries(list []string) []string {
	if len(list) <= maxListed {
		return list
	}
	return append(list[:maxListed:maxListed], fmt.Sprintf("and %d more", len(list)-maxListed))
}

// oneOf returns an error if the value is not one of the known ones; "" is always allowed.
func oneOf(argument, value string, known ...string) error {
	if value == "" {
		return nil
	}
	if slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s is %q: it can be %s", argument, cut(value), strings.Join(known, ", "))
}

// required returns an error for the first argument that is empty; pairs are names and values in turn.
func required(pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if strings.TrimSpace(pairs[i+1]) == "" {
			return fmt.Errorf("%s is empty: it is needed", pairs[i])
		}
	}
	return nil
}
