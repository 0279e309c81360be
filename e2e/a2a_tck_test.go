//go:build linux || darwin

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// kitVariable names the folder of A2A's test kit (github.com/a2aproject/a2a-tck, the line that is run by run_tck.py --category), with
// what its pyproject.toml depends on installed in its venv (requirements.txt leaves out pyOpenSSL and aiohttp).
const kitVariable = "PLIMSOLL_A2A_TCK"

// A kitRun is one run of the kit: a way to serve, a binding and a category.
type kitRun struct {
	name     string
	serve    func(w *world, front string) (base string)
	agent    string
	binding  string // as the kit has it: jsonrpc or rest
	category string
}

// kitPaths are the tests of a category, as run_tck.py chooses them.
var kitPaths = map[string][]string{
	"mandatory":    {"tests/mandatory/", "-m", "mandatory or mandatory_protocol"},
	"capabilities": {"tests/optional/capabilities/"},
	"quality":      {"tests/optional/quality/"},
	"features":     {"tests/optional/features/"},
}

// Why the server is not to pass a test of the kit. The numbers are those of the specification that the kit comes with.
const (
	pageSizeIsUsed = "the kit wants the number of tasks that are told; pageSize is \"the page size used for this response\" (a2a.proto), and in the example of 6.5 it is 10 for 1 task"
	notWhileWorks  = "a message to a task that works is refused: \"Agents MAY accept additional messages for tasks in non-terminal states\" (3.3.3); with its contextId alone it is asked next"
	sixtyAtOnce    = "the kit has 60 tasks of one context at once; of a session one question is answered and 4 wait, further ones are rejected and say so (TestListTasksDefaults asks for the page of 50)"
	loopback       = "the addresses in the card are those that were asked, and here that is loopback"
	mediaType      = "the kit wants application/octet-stream taken or -32601; what the card does not name is ContentTypeNotSupported, -32005 (3.1.1)"
)

// kitFails are the tests that fail, by module or class and name, with the reason. In each the kit wants something else than the
// specification, or more than it demands. One that passes must be taken out.
var kitFails = map[string]string{
	"TestBasicListing.test_list_tasks_empty_when_none_exist":                   pageSizeIsUsed,
	"TestPagination.test_default_page_size":                                    pageSizeIsUsed,
	"TestPagination.test_last_page_detection":                                  pageSizeIsUsed,
	"TestEdgeCasesAndErrors.test_default_page_size_is_50":                      sixtyAtOnce,
	"test_agent_card_security.test_sensitive_information_protection":           loopback,
	"test_message_send_method.test_message_send_continue_task":                 notWhileWorks,
	"test_state_transitions.test_task_history_length":                          notWhileWorks,
	"test_message_send_capabilities.test_message_send_continue_with_contextid": notWhileWorks,
	"test_resilience.test_partial_update_recovery":                             notWhileWorks,
	"test_task_state_quality.test_task_state_transitions":                      notWhileWorks,
	"TestMultiModalFeatures.test_binary_data_handling":                         mediaType,
}

// TestA2AKit runs A2A's test kit against agents as they are served: everything passes but kitFails.
func TestA2AKit(t *testing.T) {
	kit := os.Getenv(kitVariable)
	if kit == "" {
		t.Skipf("%s does not name the folder of A2A's test kit: it is not run", kitVariable)
	}
	own := func(command ...string) func(*world, string) string {
		return func(w *world, front string) string { return w.kitServer(front, command...) }
	}
	serve, one := own("serve"), own("agent", "serve", "clerk")
	builtin := func(w *world, front string) string {
		w.variables = append(w.variables, simulated)
		return w.kitServer(front, "agent", "serve", "argocd", "--model", "thinker")
	}
	for _, run := range []kitRun{
		{"serve", serve, "clerk", "jsonrpc", "mandatory"},
		{"serve", serve, "clerk", "jsonrpc", "capabilities"},
		{"serve", serve, "clerk", "jsonrpc", "quality"},
		{"serve", serve, "clerk", "jsonrpc", "features"},
		{"serve", serve, "clerk", "rest", "mandatory"},
		{"serve", serve, "clerk", "rest", "capabilities"},
		{"agent serve", one, "clerk", "jsonrpc", "mandatory"},
		{"agent serve", one, "clerk", "jsonrpc", "capabilities"},
		{"built-in", builtin, "argocd", "jsonrpc", "mandatory"},
		{"built-in", builtin, "argocd", "jsonrpc", "capabilities"},
	} {
		name := run.name + "/" + run.binding + "/" + run.category
		t.Run(name, func(t *testing.T) { run.test(t, kit) })
	}
}

func (k kitRun) test(t *testing.T, kit string) {
	w := newWorld(t)
	front, connect := kitFront(t, "/a2a/"+k.agent)
	connect(k.serve(w, front))
	at := front + "/a2a/" + k.agent
	choice := kitPaths[k.category]
	if k.category == "mandatory" && k.binding == "jsonrpc" {
		choice = []string{choice[0], choice[1], choice[2] + " or mandatory_jsonrpc"}
	}
	verdicts, said := k.run(w, kit, at, choice...)
	counts := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(verdicts)) {
		v := verdicts[name]
		if v.outcome == "failed" && strings.Contains(v.text, "Event loop is closed") {
			// The kit's client of REST keeps a connection beyond the event loop of the test that opened it.
			alone, _ := k.run(w, kit, at, v.id)
			v = alone[name]
		}
		counts[v.outcome]++
		reason := kitFails[name]
		switch {
		case v.outcome == "failed" && reason == "", v.outcome == "":
			t.Errorf("%s failed: %s", name, clip(v.text))
		case v.outcome == "failed":
			t.Logf("%s fails as expected: %s", name, reason)
		case v.outcome == "passed" && reason != "":
			t.Errorf("%s passes: take it out of kitFails, where it says: %s", name, reason)
		}
	}
	if counts["passed"] == 0 {
		t.Errorf("nothing passed; the kit said: %s", clip(string(said)))
	}
	t.Logf("%d passed, %d failed, %d skipped", counts["passed"], counts["failed"], counts["skipped"])
}

// run runs the tests of a choice and returns what each came to, and what the kit said.
func (k kitRun) run(w *world, kit, at string, choice ...string) (map[string]kitVerdict, []byte) {
	w.t.Helper()
	report := filepath.Join(w.t.TempDir(), "report.xml")
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
	defer cancel()
	args := append([]string{"-m", "pytest", "-q", "-p", "no:cacheprovider", "--test-scope", "all"}, choice...)
	cmd := exec.CommandContext(ctx, filepath.Join(kit, "venv", "bin", "python"), append(args,
		"--sut-url", at, "--transports", k.binding, "--transport-strategy", "prefer_"+k.binding, "--junitxml", report)...)
	cmd.Dir = kit
	cmd.Env = w.environment("PYTHONDONTWRITEBYTECODE=1")
	said, _ := cmd.CombinedOutput() // its status says that a test failed; which ones is in the report
	verdicts, err := readKitReport(report)
	if err != nil {
		w.t.Fatalf("the kit gave no report: %v; it said: %s", err, clip(string(said)))
	}
	return verdicts, said
}

// kitServer starts plimsoll with an agent behind a model that thinks for a while.
func (w *world) kitServer(front string, command ...string) (base string) {
	w.t.Helper()
	model := newThinker(w.t)
	w.variables = append(w.variables, "OPENAI_API_KEY=sk-thinker", "OPENAI_BASE_URL="+model+"/v1")
	if err := os.MkdirAll(w.state, 0o700); err != nil {
		w.t.Fatal(err)
	}
	// The kit's webhook is on this host, and what it asks for is the front.
	settings := "[serve]\nhosts = [" + strconv.Quote(nameOf(front)) + "]\npush_allow = [\"127.0.0.0/8\", \"::1/128\"]\n\n[agents.clerk]\nintro = \"You keep the books.\"\nmodel = \"thinker\"\nprovider = \"openai\"\nbase_url = " +
		strconv.Quote(model+"/v1") + "\n"
	testfile.Write(w.t, filepath.Join(w.state, "config.toml"), settings)
	ready := filepath.Join(w.t.TempDir(), "ready")
	w.background(append(append([]string{plimsoll}, command...), "--listen", "127.0.0.1:0", "--ready-file", ready)...)
	w.until("the agent is ready", func() bool {
		text, err := os.ReadFile(ready)
		base = strings.TrimSpace(string(text))
		return err == nil && base != ""
	})
	return base
}

// nameOf is the host of an address, without its port.
func nameOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Hostname()
}

// thought is how long the model thinks: long enough that the kit finds a task working, as it does with its own agent.
const thought = 2 * time.Second

// newThinker starts a model that says the same after a while, and returns its address.
func newThinker(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.NotFound(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-time.After(thought):
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"id":"t","object":"chat.completion.chunk","created":1,"model":"thinker","choices":[{"index":0,"delta":{"role":"assistant","content":"It is so."},"finish_reason":"stop"}]}`+
			"\n\n"+`data: {"id":"t","object":"chat.completion.chunk","created":1,"model":"thinker","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13}}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// kitFront stands between the kit and an agent and mends three things of the kit's requests, each of them against the specification
// that it comes with. It touches no answer.
//
//   - Every SendMessage gets returnImmediately. The kit takes it for what happens without a configuration, and asks after tasks that
//     work; the specification (3.2.2) has a server wait for the end then.
//   - Requests of REST get A2A-Version: 1.0. Without it they are of 0.3 (3.6.2), and the kit reads answers of 1.0.
//   - Paths of REST get the path of the agent's address. The kit joins them to the host alone, as does no client by 5.3.
//
// path is the agent's, connect tells the address of its server.
func kitFront(t *testing.T, path string) (address string, connect func(base string)) {
	t.Helper()
	to := &url.URL{Path: path}
	front := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
			r.Out.Host = r.In.Host // the card names it
			rest := r.In.URL.Path != to.Path && r.In.URL.Path != to.Path+"/"
			if !strings.HasPrefix(r.In.URL.Path, to.Path) {
				r.Out.URL.Path = to.Path + r.In.URL.Path
			}
			if rest && !strings.Contains(r.In.URL.Path, "/.well-known/") && r.In.Header.Get("A2A-Version") == "" {
				r.Out.Header.Set("A2A-Version", "1.0")
			}
			if r.In.Body == nil || r.In.Method != http.MethodPost {
				return
			}
			body, _ := io.ReadAll(r.In.Body) // what is cut off, the server refuses
			body = returnImmediately(body, rest)
			r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Out.Header.Set("Content-Length", strconv.Itoa(len(body)))
		},
	})
	t.Cleanup(front.Close)
	return front.URL, func(base string) {
		at, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		to.Scheme, to.Host = at.Scheme, at.Host
	}
}

// returnImmediately sets it in the request of a message that has no word about it; anything else stays as it is.
func returnImmediately(body []byte, rest bool) []byte {
	var call map[string]any
	if json.Unmarshal(body, &call) != nil {
		return body
	}
	params, _ := call["params"].(map[string]any)
	if rest {
		params = call
	} else if call["method"] != "SendMessage" {
		return body
	}
	if _, ok := params["message"].(map[string]any); !ok {
		return body
	}
	configuration, ok := params["configuration"].(map[string]any)
	if !ok && params["configuration"] != nil {
		return body
	}
	if _, said := configuration["returnImmediately"]; said {
		return body
	}
	if configuration == nil {
		configuration = map[string]any{}
		params["configuration"] = configuration
	}
	configuration["returnImmediately"] = true
	text, err := json.Marshal(call)
	if err != nil {
		return body
	}
	return text
}

// A kitVerdict is what one test of the kit came to: passed, failed or skipped.
type kitVerdict struct {
	outcome, text string
	id            string // as pytest takes it: file::class::name
}

// readKitReport reads the report of pytest, in JUnit's form.
func readKitReport(file string) (map[string]kitVerdict, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	type note struct {
		Message string `xml:"message,attr"`
	}
	var report struct {
		Cases []struct {
			Class   string `xml:"classname,attr"`
			Name    string `xml:"name,attr"`
			Failure *note  `xml:"failure"`
			Error   *note  `xml:"error"`
			Skipped *note  `xml:"skipped"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(text, &report); err != nil {
		return nil, err
	}
	out := map[string]kitVerdict{}
	for _, c := range report.Cases {
		name := c.Class[strings.LastIndexByte(c.Class, '.')+1:] + "." + c.Name
		v := kitVerdict{outcome: "passed", id: kitID(c.Class, c.Name)}
		switch {
		case c.Failure != nil:
			v.outcome, v.text = "failed", c.Failure.Message
		case c.Error != nil:
			v.outcome, v.text = "failed", c.Error.Message
		case c.Skipped != nil:
			v.outcome, v.text = "skipped", c.Skipped.Message
		}
		out[name] = v
	}
	return out, nil
}

// kitID makes tests/a/b.py::Class::name of tests.a.b.Class and name.
func kitID(class, name string) string {
	file, inside := strings.ReplaceAll(class, ".", "/"), ""
	if i := strings.LastIndexByte(class, '.'); i >= 0 && strings.HasPrefix(class[i+1:], "Test") {
		file, inside = strings.ReplaceAll(class[:i], ".", "/"), class[i+1:]+"::"
	}
	return file + ".py::" + inside + name
}
