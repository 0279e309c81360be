package standin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/standin"
	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/simulator"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// argoTools are the tools for Argo CD over a simulator of the usual size. They are shared
// by all tests: nothing of them changes.
var argoTools = sync.OnceValues(func() ([]builtin.Tool, error) {
	sim, err := simulator.New(simulator.Options{})
	if err != nil {
		return nil, err
	}
	server := httptest.NewServer(sim) // until the process ends
	c, err := argocd.New(argocd.Options{Name: "sim", URL: server.URL, Token: func(context.Context) (string, error) { return "t", nil }})
	if err != nil {
		return nil, err
	}
	set, err := toolset.New(toolset.Options{Instances: []*argocd.Client{c}})
	if err != nil {
		return nil, err
	}
	// The simulator never changes: what was asked once need not be read again.
	tools, known := set.Tools(), sync.Map{}
	for i := range tools {
		run := tools[i].Run
		tools[i].Run = func(ctx context.Context, c *builtin.Call) (*builtin.Result, error) {
			key := tools[i].Name + " " + string(c.Arguments)
			if r, ok := known.Load(key); ok {
				return r.(*builtin.Result), nil
			}
			r, err := run(ctx, c)
			if err == nil && r.Stream == nil {
				known.Store(key, r)
			}
			return r, err
		}
	}
	return tools, nil
})

// conversation is a small agent: it makes the calls that the stand-in wants.
type conversation struct {
	t        *testing.T
	client   client
	tools    []builtin.Tool
	prefix   string
	messages []chatMessage
	calls    []string // NAME ARGUMENTS, of the last question
	results  []string
	box      agent.Tools // in the place of tools
	steps    int         // that a question may have; 0 is 12
}

func newConversation(t *testing.T, o standin.Options, tools []builtin.Tool) *conversation {
	t.Helper()
	server := httptest.NewServer(standin.New(o))
	t.Cleanup(server.Close)
	return &conversation{t: t, client: client{server.URL + "/v1", "k"}, tools: tools}
}

func (c *conversation) params() chatRequest {
	p := chatRequest{Model: standin.Model, Messages: c.messages}
	if c.box != nil {
		specs, err := c.box.List(c.t.Context())
		if err != nil {
			c.t.Fatal(err)
		}
		for _, one := range specs {
			p.Tools = append(p.Tools, declared(one.Name, one.Description, one.Schema))
		}
	}
	for _, one := range c.tools {
		p.Tools = append(p.Tools, declared(c.prefix+one.Name, one.Description, one.Input))
	}
	return p
}

// ask asks, and makes calls until there is an answer.
func (c *conversation) ask(question string) string {
	c.t.Helper()
	c.messages, c.calls, c.results = append(c.messages, user(question)), nil, nil
	if c.steps == 0 {
		c.steps = 12
	}
	for range c.steps {
		done, err := c.client.complete(c.t, c.params())
		if err != nil {
			c.t.Fatalf("%s: %v", question, err)
		}
		said := done.Choices[0].Message
		c.messages = append(c.messages, said)
		if len(said.ToolCalls) == 0 {
			return said.Content
		}
		for _, one := range said.ToolCalls {
			c.calls = append(c.calls, one.Function.Name+" "+one.Function.Arguments)
			c.results = append(c.results, c.run(one.Function.Name, one.Function.Arguments))
			c.messages = append(c.messages, result(c.results[len(c.results)-1], one.ID))
		}
	}
	c.t.Fatalf("%s: no answer after %d steps; %q", question, c.steps, c.calls)
	return ""
}

// first asks and returns the calls of the first step.
func (c *conversation) first(question string) []string {
	c.t.Helper()
	c.messages = append(c.messages, user(question))
	done, err := c.client.complete(c.t, c.params())
	if err != nil {
		c.t.Fatalf("%s: %v", question, err)
	}
	var calls []string
	for _, one := range done.Choices[0].Message.ToolCalls {
		calls = append(calls, one.Function.Name+" "+one.Function.Arguments)
	}
	return calls
}

// loop asks and returns the calls of so many steps, which are answered and not made.
func (c *conversation) loop(question string, steps int) []string {
	c.t.Helper()
	c.messages = append(c.messages, user(question))
	var calls []string
	for range steps {
		done, err := c.client.complete(c.t, c.params())
		if err != nil {
			c.t.Fatalf("%s: %v", question, err)
		}
		said := done.Choices[0].Message
		c.messages = append(c.messages, said)
		for _, one := range said.ToolCalls {
			calls = append(calls, one.Function.Name+" "+one.Function.Arguments)
			c.messages = append(c.messages, result("done", one.ID))
		}
	}
	return calls
}

func (c *conversation) run(name, arguments string) string {
	if c.box != nil {
		out, err := c.box.Call(c.t.Context(), agent.Call{ID: "c", Name: name, Arguments: arguments}, func(string) {})
		if err != nil {
			return err.Error()
		}
		return out.Text
	}
	for _, one := range c.tools {
		if c.prefix+one.Name != name {
			continue
		}
		r, err := one.Run(c.t.Context(), &builtin.Call{Tool: name, Arguments: json.RawMessage(arguments), Progress: func(float64, float64, string) {}})
		if err != nil {
			return err.Error()
		}
		if r.Stream == nil {
			return r.Text
		}
		var b bytes.Buffer
		if err := r.Stream(c.t.Context(), &b); err != nil {
			return err.Error()
		}
		return b.String()
	}
	c.t.Errorf("the stand-in calls %s, which is no tool", name)
	return "unknown tool"
}

// questions to the tools for Argo CD, each in a conversation of its own: what is called,
// and what stands in the answer.
var questions = []struct {
	question string
	calls    []string
	words    []string
}{
	{"list all applications", []string{`list_applications {}`}, []string{"PAGE 1 of 819 items (41 pages)", "819 applications", "Healthy 574", "| name | project | health | sync | dest |", `"page 2"`}},
	{"Can you list all the apps?", []string{`list_applications {}`}, []string{"PAGE 1 of 819 items (41 pages)"}},
	{"show me the first 5 applications", []string{`list_applications {"page_size":5}`}, []string{"1 to 5 are shown"}},
	{"list applications page 3", []string{`list_applications {"page":3}`}, []string{"PAGE 3 of 819 items (41 pages)", "41 to 60 are shown"}},
	{"search for prod", []string{`search_argocd_resources {"query":"prod"}`}, []string{"PAGE 1 of 407 items (21 pages)", `407 matches for "prod"`, "applications 352, projects 50, clusters 5"}},
	{"payments", []string{`search_argocd_resources {"query":"payments"}`}, []string{`47 matches for "payments"`}},
	{"billing-api-stg", []string{`search_argocd_resources {"query":"billing-api-stg"}`}, []string{`1 match for`, "billing-tooling"}},
	{`search "team=payments"`, []string{`search_argocd_resources {"query":"team=payments"}`}, []string{"26 matches"}},
	{`search for "a"`, []string{`search_argocd_resources {"query":"a"}`}, []string{"This did not work.", "more than 1000", "where: applications 819, applicationsets 287, projects 236, clusters 11", "- health: Healthy 574", "to go on: use a longer pattern"}},
	{"Search for zzzz!", []string{`search_argocd_resources {"query":"zzzz"}`}, []string{`0 matches for "zzzz"`}},
	{"list prod applications", []string{`search_argocd_resources {"query":"prod","resource_types":["applications"]}`}, []string{"352 matches"}},
	{"search for payments in application sets", []string{`search_argocd_resources {"query":"payments","resource_types":["applicationsets"]}`}, []string{"9 matches"}},
	{"how many projects are there?", []string{`project_list {"page_size":1}`}, []string{"236 projects."}},
	{"count the applications", []string{`list_applications {"page_size":1}`}, []string{"819 applications.", "OutOfSync 148"}},
	{"list all clusters", []string{`cluster_service__list {}`}, []string{"13 clusters.", "Successful 11", "| stg-us-east-1 |"}},
	{"How many applications are there, and how many clusters?", []string{`list_applications {"page_size":1}`, `cluster_service__list {"page_size":1}`}, []string{"819 applications.", "13 clusters."}},
	{"list all projects, clusters and accounts", []string{`project_list {}`, `cluster_service__list {}`, `account_service__list_accounts {}`}, []string{"236 projects", "13 clusters", "3 accounts"}},
	{"which applications are degraded?", []string{`list_applications {"health":["Degraded"]}`}, []string{"69 applications with health Degraded"}},
	{"which applications are out of sync and degraded?", []string{`list_applications {"health":["Degraded"],"sync":["OutOfSync"]}`}, []string{"9 applications with health Degraded, sync OutOfSync"}},
	{"list applications in project billing-core", []string{`list_applications {"project":["billing-core"]}`}, []string{"1 application with project billing-core"}},
	{"how many applications in project default", []string{`list_applications {"page_size":1,"project":["default"]}`}, []string{"67 applications"}},
	{"applications on cluster prod-us-east-1", []string{`list_applications {"cluster":"prod-us-east-1"}`}, []string{"54 applications"}},
	{"what applications are Missing", []string{`list_applications {"health":["Missing"]}`}, []string{"24 applications with health Missing."}},
	{"show details of billing-api-stg", []string{`get_application_details {"name":"billing-api-stg"}`}, []string{"- health.status: Healthy", "billing-tooling"}},
	{"why is billing-api-stg degraded?", []string{`get_application_details {"name":"billing-api-stg"}`}, []string{"- sync.status: Synced"}},
	{"details of nosuch-app", []string{`get_application_details {"name":"nosuch-app"}`, `search_argocd_resources {"query":"nosuch-app"}`}, []string{"This did not work.", "permission denied", "0 matches"}},
	{"show project billing-core", []string{`project_get {"name":"billing-core"}`}, []string{"- metadata.name: billing-core"}},
	{"details of cluster in-cluster", []string{`cluster_service__get {"cluster":"in-cluster"}`}, []string{"https://kubernetes.default.svc"}},
	{"tell me about application set billing-auth-regions", []string{`applicationset_service__get {"name":"billing-auth-regions"}`}, []string{"billing-auth-regions"}},
	{"resources of billing-api-stg", []string{`get_application_resource_tree {"name":"billing-api-stg"}`}, []string{"15 ", "Pod 5"}},
	{"logs of billing-api-stg", []string{`application_service__pod_logs {"name":"billing-api-stg"}`}, []string{"500 lines", "```"}},
	{"events of billing-api-stg", []string{`application_service__list_resource_events {"name":"billing-api-stg"}`}, []string{"4 resource events", "Unhealthy"}},
	{"history of billing-api-stg", []string{`get_application_history {"name":"billing-api-stg"}`}, []string{"It was never deployed"}},
	{"sync windows of billing-api-stg", []string{`get_application_sync_windows {"name":"billing-api-stg"}`}, []string{"can_sync_now: true", "assigned:"}},
	{"what differs in billing-api-stg?", []string{`get_application_managed_resources {"name":"billing-api-stg"}`}, []string{"Nothing differs"}},
	{"What is the version of Argo CD?", []string{`version_service__version {}`}, []string{"v3.5.1"}},
	{"which repositories failed?", []string{`repository_list {"failed":true}`}, []string{"18 repositories"}},
	{"account admin", []string{`account_service__get_account {"name":"admin"}`}, []string{"- enabled: true"}},
	{`list_applications {"page_size": 2}`, []string{`list_applications {"page_size":2}`}, []string{"1 to 2 are shown"}},
	{"hello", nil, []string{"not a language model", "list_applications", `"list all applications"`}},
	{"page 2", nil, []string{"No list was shown", `"list all applications"`}},
}

func TestQuestionsToArgoCD(t *testing.T) {
	t.Parallel()
	tools, err := argoTools()
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range questions {
		if raceDetector && i%8 != 0 {
			continue // the simulator is ten times slower; all are asked without it
		}
		t.Run(q.question, func(t *testing.T) {
			t.Parallel()
			c := newConversation(t, standin.Options{Window: -1}, tools)
			answer := c.ask(q.question)
			if got := strings.Join(c.calls, "\n"); got != strings.Join(q.calls, "\n") {
				t.Errorf("the calls are\n%s\nwant\n%s", got, strings.Join(q.calls, "\n"))
			}
			for _, word := range append(q.words, standin.Model) {
				if !strings.Contains(answer, word) {
					t.Errorf("no %q in:\n%s", word, answer)
				}
			}
		})
	}
}

// What was listed before is gone on with: the same list, in pages that have numbers.
func TestPagesOfWhatWasListed(t *testing.T) {
	if raceDetector {
		t.Skip("the simulator makes eleven large lists, slowly under the race detector; this runs without it")
	}
	t.Parallel()
	tools, err := argoTools()
	if err != nil {
		t.Fatal(err)
	}
	c := newConversation(t, standin.Options{Window: -1}, tools)
	c.prefix = "argocd__" // as it is where there are several servers
	for _, step := range []struct{ question, call, words string }{
		{"list all applications", `argocd__list_applications {}`, "PAGE 1 of 819 items (41 pages)"},
		{"page 2", `argocd__list_applications {"page":2}`, "PAGE 2 of 819 items (41 pages)"},
		{"next page, please", `argocd__list_applications {"page":3}`, "PAGE 3 of 819 items (41 pages)"},
		{"last page", `argocd__list_applications {"page":41}`, "801 to 819 are shown"},
		{"next page", "", "There is no page 42: the last page is 41."},
		{"page 99", "", "There is no page 99: the last page is 41."},
		{"page 3", `argocd__list_applications {"page":3}`, "PAGE 3 of 819 items (41 pages)"},
		{"previous page", `argocd__list_applications {"page":2}`, "PAGE 2 of 819 items (41 pages)"},
		{"which applications are degraded?", `argocd__list_applications {"health":["Degraded"]}`, "PAGE 1 of 69 items (4 pages)"},
		{"more", `argocd__list_applications {"health":["Degraded"],"page":2}`, "PAGE 2 of 69 items (4 pages)"},
		{"search for prod", `argocd__search_argocd_resources {"query":"prod"}`, "PAGE 1 of 407 items (21 pages)"},
		{"page 21", `argocd__search_argocd_resources {"page":21,"query":"prod"}`, "PAGE 21 of 407 items (21 pages)"},
		{"first page", `argocd__search_argocd_resources {"page":1,"query":"prod"}`, "PAGE 1 of 407 items (21 pages)"},
		{"previous page", "", "no page before the first"},
		{"how many projects?", `argocd__project_list {"page_size":1}`, "236 projects."},
		{"next page", `argocd__project_list {"page":1}`, "PAGE 1 of 236 items (12 pages)"},
		{"list all clusters", `argocd__cluster_service__list {}`, "13 clusters."},
		{"page 2", "", "all of it was shown"},
	} {
		answer := c.ask(step.question)
		if got := strings.Join(c.calls, "\n"); got != step.call || !strings.Contains(answer, step.words) {
			t.Fatalf("%s: %s; want %s and %q in\n%s", step.question, got, step.call, step.words, answer)
		}
	}
	// A history that was made shorter: the results are gone, then the calls too.
	c.messages = []chatMessage{
		user("list all applications"),
		{Role: "assistant", Content: "PAGE 4 of 819 items (41 pages): 819 applications"},
	}
	if c.ask("next page"); strings.Join(c.calls, " ") != `argocd__list_applications {"page":5}` {
		t.Errorf("without the results: %q", c.calls)
	}
}

// With the tools withheld, as at an agent's last step, the answer is what is there.
func TestAnswersWithoutTools(t *testing.T) {
	t.Parallel()
	tools, err := argoTools()
	if err != nil {
		t.Fatal(err)
	}
	c := newConversation(t, standin.Options{Window: -1}, tools)
	c.ask("list all applications")
	c.messages, c.tools = c.messages[:len(c.messages)-1], nil
	for _, note := range []string{"", "All steps are used up: answer with what is there."} {
		params := c.params()
		if note != "" {
			params.Messages = append(params.Messages, user(note))
		}
		done, err := c.client.complete(c.t, params)
		if err != nil {
			t.Fatal(err)
		}
		if said := done.Choices[0].Message; !strings.Contains(said.Content, "PAGE 1 of 819 items (41 pages): 819 applications") || len(said.ToolCalls) != 0 {
			t.Errorf("%q: %s", note, said.Content)
		}
	}
	c.messages = nil
	if answer := c.ask("list all applications"); !strings.Contains(answer, "No tools are offered") {
		t.Errorf("%s", answer)
	}
}

// The answer to one request is the same every time, to the byte.
func TestIsDeterministic(t *testing.T) {
	t.Parallel()
	question := "list all clusters and search for prod"
	if raceDetector {
		question = "list all clusters"
	}
	tools, err := argoTools()
	if err != nil {
		t.Fatal(err)
	}
	var first string
	for range 3 {
		c := newConversation(t, standin.Options{Window: -1}, tools)
		answer := c.ask(question)
		if all, _ := json.Marshal(c.messages[len(c.messages)-1]); first == "" {
			first = answer + string(all)
		} else if first != answer+string(all) {
			t.Errorf("another answer:\n%s\nthe first was\n%s", answer, first)
		}
	}
}
