package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// A composition is deploy/compose, started by docker-compose in an engine of the test's own.
type composition struct {
	*engine
	dir       string
	variables []string
}

func (c *composition) compose(args ...string) string {
	c.t.Helper()
	cmd := exec.Command(packageTool(c.t, "docker-compose"), append([]string{"-p", "plimsoll", "--no-ansi"}, args...)...)
	cmd.Dir = c.dir
	cmd.Env = append(append(os.Environ(), "DOCKER_HOST="+c.socket), c.variables...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("docker-compose %v: %v\n%s\n%s", args, err, out, c.logs())
	}
	return string(out)
}

// asks puts a query to the composition's own Prometheus.
func (c *composition) asks(query string) string {
	c.t.Helper()
	out, _, _ := c.tries("exec", "plimsoll_prometheus_1", "promtool", "query", "instant", "http://127.0.0.1:9090", query)
	return out
}

func (c *composition) healthy(name string) bool {
	health := c.inspect(name).State.Health
	return health != nil && health.Status == "healthy"
}

// greedyServer is an MCP server that never answers: it takes more than its container has.
const greedyServer = "import time; time.sleep(10); b = bytearray(b'x') * (700 << 20); time.sleep(60)"

// askAgent asks the agent over A2A, as a client in its network does.
const askAgent = `
import json, sys, urllib.request
message = {"kind": "message", "messageId": "1", "role": "user", "parts": [{"kind": "text", "text": "list all applications"}]}
request = urllib.request.Request("http://127.0.0.1:4621/" + sys.argv[1] + "/a2a/argocd", headers={"Content-Type": "application/json"},
    data=json.dumps({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}).encode())
print(urllib.request.urlopen(request, timeout=100).read().decode())
`

// The composition as it is shipped: its limits, its health, what its log says; and over the limit the agent loses a child and not itself.
func TestCompose(t *testing.T) {
	e := newEngine(t)
	prometheusTool(t, "prometheus")
	c := &composition{engine: e, dir: filepath.Join(t.TempDir(), "compose"), variables: []string{
		"NETWORK=none", "PROMETHEUS_IMAGE=prometheus", "IMAGE=with-python", "ARGOCD_SIMULATOR=on", "AGENT_FLAGS=--model standin",
	}}
	prometheus, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatal(err)
	}
	e.imports("prometheus", prometheus, filepath.Join(filepath.Dir(prometheus), "promtool"))
	e.imports("python", "/usr/bin/python3", "/usr/lib/"+pythonFolder(t))
	e.docker("build", "-q", "--network", "none", "--build-arg", "PLIMSOLL="+e.image, "--build-arg", "BASE=python", "-t", "with-python", "../examples/container/python")
	for _, name := range []string{"compose", "prometheus"} {
		if err := os.CopyFS(filepath.Join(filepath.Dir(c.dir), name), os.DirFS("../deploy/"+name)); err != nil {
			t.Fatal(err)
		}
	}
	const token = "0123456789abcdef0123456789abcdef"
	for _, name := range []string{"SERVE_TOKEN", "ANTHROPIC_API_KEY", "ARGOCD_TOKEN"} {
		writeAs(t, filepath.Join(c.dir, "secrets", name), token+"\n", 0o444)
	}
	c.changes("prometheus.yml", "15s", "1s")
	// Whatever becomes of the test, its networks and volumes go.
	t.Cleanup(func() { c.compose("down", "-v", "--timeout", "5") })

	c.compose("up", "-d")
	const agent = "plimsoll_argocd-agent_1"
	e.wait("the gateway and the agent are healthy", func() bool { return c.healthy("plimsoll_gateway_1") && c.healthy(agent) })
	if got := e.inspect(agent); got.HostConfig.Memory != 4<<30 || got.HostConfig.MemoryReservation != 2<<30 || got.Config.User != "65532:65532" {
		t.Errorf("the agent has %+v", got.HostConfig)
	}
	if log := e.docker("logs", "plimsoll_doctor_1"); !strings.Contains(log, "rlimit   yes, used") {
		t.Errorf("doctor says\n%s", log)
	}
	e.wait("the gateway is scraped", func() bool { return strings.Contains(c.asks(`up{job="plimsoll"}`), "=> 1 ") })
	if out, _, code := e.tries("exec", agent, "plimsoll", "health", "--url", "http://127.0.0.1:4620"); code != 0 {
		t.Errorf("from the agent the gateway is not reached: %s", out)
	}
	if environment := e.docker("inspect", "-f", "{{.Config.Env}} {{.Args}}", agent); strings.Contains(environment, token) {
		t.Error("a secret is in the environment that docker inspect shows")
	}

	// The same with 300 MB, and an MCP server that takes 700.
	c.variables = append(c.variables, "AGENT_MEMORY=300m", "AGENT_RESERVATION=100m")
	c.changes("agent.toml", "[agents.argocd]\n", "[mcp.servers.greedy]\ncommand = [\"python3\", \"-c\", \""+greedyServer+"\"]\n\n[agents.argocd]\nservers = [\"argocd\", \"greedy\"]\n")
	c.compose("up", "-d")
	e.wait("the agent is there again", func() bool { return e.inspect(agent).HostConfig.Memory == 300<<20 && e.inspect(agent).State.Running })
	e.wait("it takes requests", func() bool { return c.healthy(agent) })
	before := e.inspect(agent).State.Pid
	// A question has it start its servers; it is answered without the one that dies.
	asked := make(chan string, 1)
	go func() {
		out, said, _ := e.tries("exec", agent, "python3", "-c", askAgent, token)
		asked <- out + said
	}()
	killed := `plimsoll_run_oom_kills_total{of="child"}`
	e.wait("the alert fires: "+killed, func() bool {
		return strings.Contains(c.asks(`ALERTS{alertname="PlimsollChildKilled",alertstate="firing"}`), "PlimsollChildKilled")
	})
	after := e.inspect(agent)
	if !after.State.Running || after.State.Pid != before || after.RestartCount != 0 {
		t.Errorf("the agent did not outlive its child: %+v, process %d before", after, before)
	}
	if got := <-asked; !strings.Contains(got, `"completed"`) {
		t.Errorf("the question beside it: %.2000s", got)
	}
	if got := c.asks(`ALERTS{alertname="PlimsollAgentKilled"}`) + c.asks(`plimsoll_run_oom_kills_total{of="agent"} > 0`); strings.TrimSpace(got) != "" {
		t.Errorf("the agent counts as killed: %s", got)
	}
	if out, said, code := e.tries("exec", agent, "plimsoll", "health"); code != 0 {
		t.Errorf("the agent is not well: %s%s", out, said)
	}
	// What the engine says of it when it ends agrees: where the kernel has killed, there is a kill in the metrics; and the agent's status is its own.
	c.compose("stop", "argocd-agent")
	ended := e.inspect(agent)
	t.Logf("docker inspect: %+v; %s", ended.State, strings.TrimSpace(c.asks(killed)))
	if ended.State.ExitCode == 137 {
		t.Errorf("the agent was killed: %+v\n%s", ended.State, e.docker("logs", agent))
	}

	// With the profile fleet the gateway has a server for what hosts share.
	c.compose("down", "--timeout", "5")
	e.imports("nats", natsserver.Program(t))
	writeAs(t, filepath.Join(c.dir, "nats", "Dockerfile"), "FROM nats\nENTRYPOINT [\"nats-server\"]\n", 0o644)
	e.docker("build", "-q", "--network", "none", "-t", "nats-server", filepath.Join(c.dir, "nats"))
	c.variables = append(c.variables, "NATS_IMAGE=nats-server", "FLEET_URL=nats://127.0.0.1:4222")
	c.compose("--profile", "fleet", "up", "-d")
	e.wait("the gateway has its fleet", func() bool { return strings.Contains(c.asks("plimsoll_fleet_away_seconds"), "=> 0 ") })
	if _, log, _ := e.tries("logs", "plimsoll_nats_1"); !strings.Contains(log, "Server is ready") || strings.Contains(log, "[ERR]") {
		t.Errorf("the server of the fleet says\n%s", log)
	}
}

// changes replaces words in a file of the composition.
func (c *composition) changes(name, old, new string) {
	c.t.Helper()
	file := filepath.Join(c.dir, name)
	text := testfile.Read(c.t, file)
	if !strings.Contains(string(text), old) {
		c.t.Fatalf("%s has no %q", name, old)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), old, new)), 0o644); err != nil {
		c.t.Fatal(err)
	}
}
