package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// The hints of tools that change something: those whose second call does as much again, those whose second call changes nothing more, and
// one that destroys nothing.
var (
	once  = builtin.Hints{Destructive: true, OpenWorld: true}
	again = builtin.Hints{Destructive: true, Idempotent: true, OpenWorld: true}
	mild  = builtin.Hints{Idempotent: true, OpenWorld: true}
)

// writeTools returns the tools that change something. Each changes nothing until it gets the name of the object as confirmation: without it
// the answer is the plan.
func (t *Toolset) writeTools() []builtin.Tool {
	return []builtin.Tool{
		writeTool[syncArgs](t, "sync_application", "Sync an application", once,
			"Brings an application in the cluster to what its source says, or to another revision. The plan lists what is out of sync. A dry run is an operation of the server too: it is recorded in the application."),
		writeTool[terminateArgs](t, "terminate_operation", "End a running operation", again,
			"Ends the sync or rollback that an application is in the middle of. What it has applied stays."),
		writeTool[rollbackArgs](t, "rollback_application", "Roll an application back", once,
			"Deploys again what an application had before. The plan lists the deployments and their ids. Not possible while auto-sync is on."),
		writeTool[refreshArgs](t, "refresh_application", "Refresh an application", mild,
			"Makes Argo CD compare an application with its source now. Nothing is deployed, unless auto-sync is on and finds a difference."),
		writeTool[createArgs](t, "create_application", "Create an application", again,
			"Creates an application. It is not synced unless automated_sync is true. With upsert it replaces the specification of one that is there."),
		writeTool[updateArgs](t, "update_application", "Change an application", again,
			"Changes parts of an application: those that are given, the rest stays. The plan shows each value before and after."),
		writeTool[deleteArgs](t, "delete_application", "Delete an application", again,
			"Deletes an application from Argo CD. What it deployed stays in the cluster unless cascade is true. The plan lists it."),
		writeTool[actionArgs](t, "run_resource_action", "Run an action on a resource", once,
			"Runs an action such as restart on one resource of an application. confirm is the name of the resource. The plan lists the actions there are."),
		writeTool[projectCreateArgs](t, "project_create", "Create a project", again,
			"Creates a project. With upsert it replaces the specification of one that is there."),
		writeTool[projectUpdateArgs](t, "project_update", "Change a project", again,
			"Changes parts of a project: those that are given, the rest stays. Fails when somebody else changed it in between. The plan shows each value before and after."),
		writeTool[projectDeleteArgs](t, "project_delete", "Delete a project", again,
			"Deletes a project that no application is in."),
		writeTool[appsetCreateArgs](t, "applicationset_create", "Create or replace an application set", again,
			"Creates an application set, which makes applications at once. With upsert it replaces the specification of one that is there. The plan names the applications it makes."),
		writeTool[appsetDeleteArgs](t, "applicationset_service__delete", "Delete an application set", again,
			"Deletes an application set, and with it the applications it has made and what they deployed, unless its policy preserves that. There is no way to keep the applications."),
	}
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
	return false, fmt.Errorf("confirm is %q and the object is %q: nothing was changed; send confirm=%q (or %q) to do it", cutText(s.Confirm), name, name, client.Name()+"/"+name)
}

// writeArguments are the arguments of a tool that changes something. subject is the object's name, which confirm repeats; intent reads what
// it needs to tell what the call would do.
type writeArguments interface {
	instanceName() string
	confirmed(*argocd.Client, string) (bool, error)
	subject() string
	intent(ctx context.Context, client *argocd.Client, confirmed bool) (*intent, error)
}

// writeTool returns a tool that answers with the plan of an intent or, if the call is confirmed, carries it out. The argument names of the
// Python server are accepted too.
func writeTool[A writeArguments](t *Toolset, name, title string, hints builtin.Hints, description string) builtin.Tool {
	tool := builtin.Tool{Name: name, Title: title, Description: description + needsConfirmation, Hints: hints}
	return withOldNames(builtin.Typed(tool, func(ctx context.Context, c *builtin.Call, in A) (*builtin.Result, error) {
		client, err := t.clientFor(c, in.instanceName())
		if err != nil {
			return nil, err
		}
		confirmed, err := in.confirmed(client, in.subject())
		if err != nil {
			return nil, err
		}
		i, err := in.intent(ctx, client, confirmed)
		if err != nil {
			return nil, err
		}
		if !confirmed || i.dryRun != nil && *i.dryRun {
			return i.answerPlan(c, client, in.subject())
		}
		return i.carryOut(ctx, client)
	}), formerApplication(map[string]string{
		"param_name": "name", "metadata_name": "name", "metadata_namespace": "namespace",
		"param_appsetNamespace": "namespace", "param_upsert": "upsert", "param_dryRun": "dry_run",
	}))
}

// request is one request to the server that changes something; its body is sent as JSON, nil as none.
type request struct {
	method string
	path   []string
	query  url.Values
	body   any
}

// sendTo makes the request, which changes something on the server, and returns the server's answer. Of the requests of tools that write,
// only a refresh is a GET.
func (r request) sendTo(ctx context.Context, client *argocd.Client) ([]byte, error) {
	if r.method == http.MethodGet { // of a refresh, which reads
		return client.Get(ctx, r.path, r.query)
	}
	var body []byte
	if r.body != nil {
		var err error
		if body, err = compact(r.body); err != nil {
			return nil, err
		}
	}
	return client.Call(ctx, r.method, r.path, r.query, body)
}

// intent is a change that a call asks for: what to say of it, and the request that makes it.
type intent struct {
	sentence string
	warnings []string // of the plan and of the answer
	doubts   []string // warnings of the plan alone
	current  any      // the object as the plan shows it
	change   any      // of the plan and of the answer
	preview  any      // in the plan, in the place of change
	next     string
	// dryRun is the argument of tools whose dry run is the plan; nil for the others.
	dryRun  *bool
	request request
	// deletes names the object that the request deletes: it may be gone already, which is no failure. If again is not nil it reads the
	// object, for a server that says "forbidden".
	deletes string
	again   func() error
	// finish completes the answer by what the server sent; it may be nil.
	finish func(d *changeResult, raw []byte) error
}

// answerPlan answers a call that was not confirmed with the plan of the change to the object of this name. It changes nothing.
func (i *intent) answerPlan(c *builtin.Call, client *argocd.Client, name string) (*builtin.Result, error) {
	p := plan{Plan: i.sentence, Instance: client.Name(), Current: i.current, Change: i.change, Warnings: append(i.warnings, i.doubts...), Do: suggestedCall{Tool: c.Tool}}
	if i.preview != nil {
		p.Change = i.preview
	}
	args, err := c.Arguments, error(nil)
	if i.dryRun != nil {
		args, err = rawjson.Remove(args, "dry_run")
	}
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

// carryOut sends the request of the intent and answers with the result. What was to be deleted and is gone already is no error.
func (i *intent) carryOut(ctx context.Context, client *argocd.Client) (*builtin.Result, error) {
	d := changeResult{Done: i.sentence, Instance: client.Name(), Warnings: i.warnings, Change: i.change, Next: i.next}
	raw, err := i.request.sendTo(ctx, client)
	switch {
	case err != nil && i.isGone(err):
		return builtin.JSON(changeResult{Done: i.deletes + " is gone now: it was deleted meanwhile", Instance: d.Instance})
	case err == nil && i.finish != nil:
		err = i.finish(&d, raw)
	}
	if err != nil {
		return nil, err
	}
	view, compared := d.Change.(*diffView)
	d.Changed = !d.looked && (!compared || view.All > 0)
	return builtin.JSON(d)
}

// isGone reports whether a deletion failed because the server no longer knows the object.
func (i *intent) isGone(err error) bool {
	refused, is := errors.AsType[*argocd.Error](err)
	return i.deletes != "" && (isNotFound(err) || is && refused.Kind == argocd.Forbidden && i.again != nil && isNotFound(i.again()))
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

// changeResult is the answer to a call that was confirmed.
type changeResult struct {
	Changed  bool     `json:"changed"` // false if the call only looked, or if the objects before and after do not differ
	Done     string   `json:"done"`
	Instance string   `json:"instance"`
	Warnings []string `json:"warnings,omitempty"`
	State    any      `json:"state,omitempty"`
	Change   any      `json:"change,omitempty"`
	Next     string   `json:"next,omitempty"`
	looked   bool     // the call has changed nothing
}

// showState sets the state to that of the application in the server's answer.
func (d *changeResult) showState(client *argocd.Client, raw []byte) error {
	app, err := decodeApplication(client, raw)
	if err == nil {
		d.State = app.summary()
	}
	return err
}

// maxShown bounds the characters of one value, and maxListed the entries of one list, in plans and answers, which a
// model reads.
const (
	maxShown  = 200
	maxListed = 20
)

// cutText shortens a value to maxShown characters.
func cutText(s string) string {
	return limit.ShortRunes(s, maxShown+1)
}

// firstEntries returns the first maxListed entries of a list, and the number of the others as a last entry.
func firstEntries(list []string) []string {
	if len(list) <= maxListed {
		return list
	}
	return append(list[:maxListed:maxListed], fmt.Sprintf("and %d more", len(list)-maxListed))
}

// checkValue returns an error if the value is not one of the known ones; "" is always allowed.
func checkValue(argument, value string, known ...string) error {
	if value == "" {
		return nil
	}
	if slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s is %q: it can be %s", argument, cutText(value), strings.Join(known, ", "))
}

// checkGiven returns an error for the first argument that is empty; pairs are names and values in turn.
func checkGiven(pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if strings.TrimSpace(pairs[i+1]) == "" {
			return fmt.Errorf("%s is empty: it is needed", pairs[i])
		}
	}
	return nil
}
