package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/limit"
)

// world is a home, a project in it and an environment, apart from those of the test.
type world struct {
	t             *testing.T
	home, project string
	environ       []string
	flags         []config.Flag
}

func newWorld(t *testing.T) *world {
	home := t.TempDir()
	w := &world{t: t, home: home, project: filepath.Join(home, "src", "thing")}
	if err := os.MkdirAll(filepath.Join(w.project, "deep", "down"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.environ = []string{"HOME=" + home, "USERPROFILE=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, "cfg")}
	return w
}

func (w *world) userFile() string { return filepath.Join(w.home, "cfg", "plimsoll", "config.toml") }

func (w *world) user(text string) *world { return w.write(w.userFile(), text) }

func (w *world) repo(text string) *world {
	return w.write(filepath.Join(w.project, config.ProjectFile), text)
}

func (w *world) write(file, text string) *world {
	w.t.Helper()
	testfile.Write(w.t, file, text)
	return w
}

func (w *world) env(pairs ...string) *world { w.environ = append(w.environ, pairs...); return w }

func (w *world) flag(name, key, value string) *world {
	w.flags = append(w.flags, config.Flag{Name: name, Key: key, Value: value})
	return w
}

func (w *world) load() (*config.Loaded, error) {
	return config.Load(config.Options{Environ: w.environ, Dir: filepath.Join(w.project, "deep", "down"), Flags: w.flags, CPUs: 4})
}

func (w *world) must() *config.Loaded {
	w.t.Helper()
	l, err := w.load()
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) settings(tool string) config.Settings {
	w.t.Helper()
	s, err := w.must().For(tool)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func TestDefaultsAreTheDocumentedOnes(t *testing.T) {
	got := newWorld(t).settings("")
	want := config.Settings{
		Enforcement: config.EnforcementBestEffort, MemoryMax: config.Auto, PidsMax: 512, MinFree: config.Auto, FreeMin: config.Auto, CountSwap: true,
		OnExit: config.OnExitKill, OnPressure: config.OnPressureAuto, OOMD: config.OOMDAvoid, OnOrphan: config.OnOrphanWarn, OrphanMax: 30 * time.Minute, OnIdle: config.OnIdleEnd, MemoryGrow: true, Grace: 2 * time.Second, CPUWeight: 60,
		Layers: []string{"systemd", "cgroup2", "cgroup1", "job", "rlimit", "monitor"},
		Window: config.WindowSettings{
			Proxy: "auto", Mode: "enforce", Provider: "auto", MaxTokens: int(config.Auto), Trigger: 0.8, Target: float64(config.Auto), MinMessages: 4,
			ProviderTokens: map[string]int{"azure_openai": 0, "openai": 0, "bedrock": 0, "anthropic": 0, "gemini": 0, "vertex": 0},
			Compact:        true, Repair: true, CutResults: true, MaxToolOutput: int(config.Auto), Summarizer: "auto",
			SummaryURL: "https://api.openai.com/v1",
			OnLoop:     "warn", RateQueue: true, Store: "disk", BodyMemory: 256 * limit.MiB,
		},
		Upstream: config.UpstreamSettings{
			OpenAI: "https://api.openai.com/v1", Anthropic: "https://api.anthropic.com", Gemini: "https://generativelanguage.googleapis.com",
		},
		MCP: config.MCPSettings{
			Wrap: "auto", MaxOutput: config.Auto, MaxItems: 100, PageItems: 20, MaxSearch: 1000, MaxMedia: 8 * limit.MiB,
			Early: 30 * time.Second, MaxResult: 4 * limit.GiB, MemoryMax: 2 * limit.GiB, PidsMax: 512,
			MaxProcesses: 16, Idle: 30 * time.Minute, ArgoCDTokens: "off", ArgoCDTools: "common", ArgoCDSimulator: "off",
		},
		Serve:  config.ServeSettings{Listen: "127.0.0.1:4620"},
		Watch:  config.WatchSettings{Runs: true},
		Submit: config.SubmitSettings{On: "local"},
		Memory: config.MemorySettings{
			State: config.MemoryDefault, DiskMax: 256 * limit.MiB, Age: 2160 * time.Hour, FactsTokens: 20_000,
		},
	}
	if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".sources" }, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
	if got.Source("grace").Origin != config.OriginDefault {
		t.Errorf("grace comes from %q", got.Source("grace"))
	}
	for cpus, want := range map[int]int{1: 256, 2: 256, 3: 384, 64: 8192, 1 << 30: 1 << 22} {
		if got := config.AutoPids(cpus); got != want {
			t.Errorf("AutoPids(%d) = %d, want %d", cpus, got, want)
		}
	}
}

func TestBuiltInProfilesFillInWhatNobodySaid(t *testing.T) {
	w := newWorld(t)
	for tool, want := range map[string]struct {
		estimate limit.Bytes
		slots    int
	}{
		"claude": {4096 * limit.MiB, 3}, "claude-code": {4096 * limit.MiB, 3}, "codex": {4096 * limit.MiB, 5},
		"gemini-cli": {1024 * limit.MiB, 0}, "opencode": {1536 * limit.MiB, 0}, "qwen": {1792 * limit.MiB, 0}, "unheard-of": {0, 0},
	} {
		s := w.settings(tool)
		if s.InitialEstimate != want.estimate || s.MaxConcurrent != want.slots {
			t.Errorf("%s: estimate %s, %d at once; want %s, %d", tool, s.InitialEstimate, s.MaxConcurrent, want.estimate, want.slots)
		}
	}
}

func TestLaterSourcesWinAndEveryValueKnowsItsPlace(t *testing.T) {
	w := newWorld(t)
	check := func(want limit.Bytes, source string) {
		t.Helper()
		s := w.settings("codex")
		if s.InitialEstimate != want || !strings.HasSuffix(s.Source("initial_estimate").String(), source) {
			t.Errorf("initial_estimate = %s from %s; want %s from …%s", s.InitialEstimate, s.Source("initial_estimate"), want, source)
		}
	}
	check(4096*limit.MiB, "built-in profile codex")
	w.user("# mine\n[resources]\n  initial_estimate = \"1G\"\n")
	check(limit.GiB, "config.toml:3:3")
	w.user("[resources]\ninitial_estimate = \"1G\"\n[tools.codex]\ninitial_estimate = \"2G\"\n")
	check(2*limit.GiB, "config.toml:4:1")
	w.repo("[resources.initial_estimates]\ncodex = 3072\n")
	check(3*limit.GiB, ".plimsoll.toml:2:1")
	w.env("PLIMSOLL_RESOURCES_INITIAL_ESTIMATE=5G")
	check(5*limit.GiB, "PLIMSOLL_RESOURCES_INITIAL_ESTIMATE")
	w.env("PLIMSOLL_TOOLS_CODEX_INITIAL_ESTIMATE=6G")
	check(6*limit.GiB, "PLIMSOLL_TOOLS_CODEX_INITIAL_ESTIMATE")
	w.flag("--initial-estimate", "initial_estimate", "7G")
	check(7*limit.GiB, "--initial-estimate")
	l, err := w.must().With(config.Flag{Name: "--memory-max", Key: "memory_max", Value: "300M"})
	if err != nil {
		t.Fatal(err)
	}
	if s, _ := l.For("codex"); s.MemoryMax != 300*limit.MiB || s.InitialEstimate != 6*limit.GiB {
		t.Errorf("With: memory_max %s, initial_estimate %s; want 300M and, without the first flag, 6G", s.MemoryMax, s.InitialEstimate)
	}
}

func TestEveryFormOfEveryKeyIsUnderstood(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		tool string
		got  func(config.Settings) any
		want any
	}{
		"enforcement kebab":        {"[resources]\nenforcement = 'best-effort'", "", func(s config.Settings) any { return s.Enforcement }, config.EnforcementBestEffort},
		"enforcement original":     {"[resources]\nenforcement_mode = 'BestEffort'", "", func(s config.Settings) any { return s.Enforcement }, config.EnforcementBestEffort},
		"enforcement Required":     {"[resources]\nenforcement_mode = 'Required'", "", func(s config.Settings) any { return s.Enforcement }, config.EnforcementRequired},
		"enforcement Off":          {"[resources]\nenforcement = 'Off'", "", func(s config.Settings) any { return s.Enforcement }, config.EnforcementOff},
		"memory size":              {"[resources]\nmemory_max = '1.5G'", "", func(s config.Settings) any { return s.MemoryMax }, 1536 * limit.MiB},
		"memory auto":              {"[resources]\nmemory_max = 'auto'", "", func(s config.Settings) any { return s.MemoryMax }, config.Auto},
		"memory MB":                {"[resources]\nmemory_max_mb = 4_096", "", func(s config.Settings) any { return s.MemoryMax }, 4 * limit.GiB},
		"swap":                     {"[resources]\nswap_max = '1G'", "", func(s config.Settings) any { return s.SwapMax }, limit.GiB},
		"swap 0":                   {"[resources]\nswap_max = 0", "", func(s config.Settings) any { return s.SwapMax }, limit.Bytes(0)},
		"swap MB":                  {"[resources]\nmemory_swap_max_mb = 0x10", "", func(s config.Settings) any { return s.SwapMax }, 16 * limit.MiB},
		"pids":                     {"[resources]\npids_max = 256", "", func(s config.Settings) any { return s.PidsMax }, 256},
		"pids auto":                {"[resources]\npids_max = 'auto'", "", func(s config.Settings) any { return s.PidsMax }, 512},
		"min_free":                 {"[resources]\nmin_free = '0'", "", func(s config.Settings) any { return s.MinFree }, limit.Bytes(0)},
		"min_free MB":              {"[resources]\nmin_free_memory_mb = 4096", "", func(s config.Settings) any { return s.MinFree }, 4 * limit.GiB},
		"estimates table":          {"[resources.initial_estimates]\ngemini-cli = 2048", "gemini", func(s config.Settings) any { return s.InitialEstimate }, 2 * limit.GiB},
		"estimates size":           {"[resources]\ninitial_estimates = { my_agent = '700M' }", "my-agent", func(s config.Settings) any { return s.InitialEstimate }, 700 * limit.MiB},
		"max_concurrent":           {"[resources]\nmax_concurrent = 2", "claude", func(s config.Settings) any { return s.MaxConcurrent }, 2},
		"max_concurrent table":     {"[resources.max_concurrent]\nclaude-code = 1\ncodex = 9", "claude", func(s config.Settings) any { return s.MaxConcurrent }, 1},
		"max_concurrent dotted":    {"resources.max_concurrent.codex = 9", "codex", func(s config.Settings) any { return s.MaxConcurrent }, 9},
		"total":                    {"[resources]\nmax_concurrent_total = 8", "", func(s config.Settings) any { return s.MaxConcurrentTotal }, 8},
		"count_swap":               {"[resources]\ncount_swap = false", "", func(s config.Settings) any { return s.CountSwap }, false},
		"wait":                     {"[resources]\nwait = '90s'", "", func(s config.Settings) any { return s.Wait }, 90 * time.Second},
		"wait not":                 {"[resources]\nwait = ''", "", func(s config.Settings) any { return s.Wait }, time.Duration(0)},
		"wait forever":             {"[resources]\nwait = 'forever'", "", func(s config.Settings) any { return s.Wait }, config.Forever},
		"on_exit":                  {"[resources]\non_exit = 'leave'", "", func(s config.Settings) any { return s.OnExit }, config.OnExitLeave},
		"on_pressure":              {"[resources]\non_pressure = 'freeze'", "", func(s config.Settings) any { return s.OnPressure }, config.OnPressureFreeze},
		"layers":                   {"[resources]\nlayers = ['rlimit', 'monitor']", "", func(s config.Settings) any { return strings.Join(s.Layers, " ") }, "rlimit monitor"},
		"grace":                    {"[resources]\ngrace = '500ms'", "", func(s config.Settings) any { return s.Grace }, 500 * time.Millisecond},
		"shared_ledger":            {"[resources]\nshared_ledger = '/srv/plimsoll'", "", func(s config.Settings) any { return s.SharedLedger }, "/srv/plimsoll"},
		"tool table":               {"[tools.codex]\nmemory_max_mb = 8192", "codex", func(s config.Settings) any { return s.MemoryMax }, 8 * limit.GiB},
		"tool resources table":     {"[tools.codex.resources]\npids_max = 99", "codex", func(s config.Settings) any { return s.PidsMax }, 99},
		"tool inline":              {"tools = { codex = { resources = { pids_max = 99 }, grace = '1s' } }", "codex", func(s config.Settings) any { return s.PidsMax }, 99},
		"tool by its other name":   {"[tools.claude-code]\npids_max = 77", "claude", func(s config.Settings) any { return s.PidsMax }, 77},
		"another tool's is not":    {"[tools.claude-code]\npids_max = 77", "codex", func(s config.Settings) any { return s.PidsMax }, 512},
		"CRLF and BOM-free":        {"[resources]\r\npids_max = 300\r\n", "", func(s config.Settings) any { return s.PidsMax }, 300},
		"quoted names":             {"[\"tools\".\"codex\"]\n\"pids_max\" = 98", "codex", func(s config.Settings) any { return s.PidsMax }, 98},
		"empty tables are nothing": {"[resources]\n[tools.x]\n", "x", func(s config.Settings) any { return s.PidsMax }, 512},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.got(newWorld(t).user(c.file).settings(c.tool)); got != c.want {
				t.Errorf("%s gives %v, want %v", c.file, got, c.want)
			}
		})
	}
}

func TestEnvironmentSetsEveryKindOfKey(t *testing.T) {
	s := newWorld(t).env(
		"PLIMSOLL_RESOURCES_ENFORCEMENT_MODE=Required", "PLIMSOLL_RESOURCES_MEMORY_MAX_MB=512", "PLIMSOLL_RESOURCES_PIDS_MAX=auto",
		"PLIMSOLL_RESOURCES_COUNT_SWAP=false", "PLIMSOLL_RESOURCES_LAYERS=rlimit, monitor", "PLIMSOLL_RESOURCES_WAIT=forever",
		"PLIMSOLL_RESOURCES_INITIAL_ESTIMATES=codex=4096,my-agent=2G", "PLIMSOLL_RESOURCES_MAX_CONCURRENT=codex=2, my-agent=7",
		"PLIMSOLL_TOOLS_MY_AGENT_MEMORY_SWAP_MAX_MB=64", "PLIMSOLL_RESOURCES_GRACE=", "PLIMSOLL_RUN_ID=x",
	).settings("my_agent")
	if s.Enforcement != config.EnforcementRequired || s.MemoryMax != 512*limit.MiB || s.PidsMax != 512 || s.CountSwap ||
		len(s.Layers) != 2 || s.Wait != config.Forever || s.InitialEstimate != 2*limit.GiB || s.MaxConcurrent != 7 || s.SwapMax != 64*limit.MiB ||
		s.Grace != 2*time.Second {
		t.Errorf("%+v", s)
	}
}

// wrong is one mistake and what the answer must contain.
func TestEveryMistakeNamesItsPlaceAndTheNextStep(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"unknown key":            {"[resources]\nmemory_maxx = '4G'", `:2:1: resources.memory_maxx: unknown key; did you mean "memory_max"?`},
		"unknown key far off":    {"[resources]\nxyzzy = 1", `:2:1: resources.xyzzy: unknown key; plimsoll config init writes a file with every key`},
		"unknown table":          {"[resuorces]\nmemory_max = '4G'", `:1:2: resuorces: unknown key or table; did you mean "resources"?`},
		"key outside":            {"memory_max = '4G'", `:1:1: memory_max: is a key of table [resources]; write it below a line [resources]`},
		"doubled unit":           {"[resources]\nmemory_max = '4GG'", `:2:1: resources.memory_max: "4GG" is not a size; did you mean "4G"?`},
		"no size at all":         {"[resources]\nmemory_max = 'lots'", `"lots" is not a size; write memory_max = "4G"`},
		"decimal comma":          {"[resources]\nmemory_max = '1,5G'", `did you mean "1.5G"?`},
		"size of 0":              {"[resources]\nmemory_max = '0'", `"0" is out of range, 1M to 1024T; write memory_max = "4G"`},
		"beginning of a key":     {"[resources]\npids = 12", `:2:1: resources.pids: unknown key; did you mean "pids_max"?`},
		"bytes without a unit":   {"[resources]\nmemory_max = 4294967296", `4294967296 has no unit; write memory_max = "4G" or another unit`},
		"no unit":                {"[resources]\nmemory_max = 4096", `4096 has no unit; write memory_max = "4096M" or another unit`},
		"bytes for MB":           {"[resources]\nmemory_max = '4096'", `"4096" is out of range, 1M to 1024T; without a unit it is bytes: did you mean "4096M"?`},
		"beyond any memory":      {"[resources]\nswap_max = '9000000T'", `is not a size`},
		"negative MB":            {"[resources]\nmemory_max_mb = -1", `-1 is out of range, 1 to 1073741824 MiB; write memory_max_mb = 4096`},
		"giant integer":          {"[resources]\npids_max = 9223372036854775807", `9223372036854775807 is out of range, 1 to 4194304`},
		"integer beyond 64 bits": {"[resources]\npids_max = 92233720368547758070", `:2:`},
		"MB as text":             {"[resources]\nmemory_max_mb = '4096'", `"4096" is a string, not a whole number`},
		"pids as float":          {"[resources]\npids_max = 1.5", `1.5 is a float, not an integer or "auto"; write pids_max = 512`},
		"bool as text":           {"[resources]\ncount_swap = 'yes'", `"yes" is not true or false; write count_swap = true`},
		"choice":                 {"[resources]\non_exit = 'kil'", `"kil" is not one of leave, wait, kill; did you mean "kill"?`},
		"choice far off":         {"[resources]\nenforcement = 'maybe'", `is not one of off, best-effort, required; write one of them`},
		"choice as bool":         {"[resources]\nenforcement = false", `false is a boolean, not a string`},
		"duration":               {"[resources]\ngrace = 2", `2 is an integer, not a duration; write grace = "5s"`},
		"duration text":          {"[resources]\ngrace = '2 sec'", `"2 sec" is not a duration`},
		"duration too long":      {"[resources]\ngrace = '2h'", `"2h" is out of range, 0s to 1h0m0s`},
		"negative wait":          {"[resources]\nwait = '-1s'", `out of range`},
		"layer":                  {"[resources]\nlayers = ['cgroup3']", `"cgroup3" is not one of systemd, cgroup2, cgroup1, job, rlimit, monitor; did you mean "cgroup2"?`},
		"no layers":              {"[resources]\nlayers = []", `a list of 0 is out of range`},
		"layer twice":            {"[resources]\nlayers = ['rlimit', 'rlimit']", `"rlimit" is listed twice; write it once`},
		"layer of wrong type":    {"[resources]\nlayers = [1]", `1 is an integer, not a string`},
		"relative directory":     {"[resources]\nshared_ledger = 'here'", `"here" is not an absolute path`},
		"two names":              {"[resources]\nmemory_max = '1G'\nmemory_max_mb = 4096", `:3:1: resources.memory_max_mb: is set twice, first as resources.memory_max at `},
		"two tables":             {"[tools.codex]\npids_max = 9\n[tools.codex.resources]\npids_max = 8", `:4:1: tools.codex.resources.pids_max: is set twice, first as tools.codex.pids_max at `},
		"two names of a tool":    {"[tools.claude]\npids_max = 9\n[tools.claude-code]\npids_max = 8", `:4:1: tools.claude-code.pids_max: is set twice`},
		"twice by TOML":          {"[resources]\npids_max = 9\npids_max = 8", `:3:1: resources.pids_max: is set twice`},
		"table twice by TOML":    {"[resources]\n[resources]\n", `:2:`},
		"table for a value":      {"[resources.memory_max]\nx = 1", `:2:1: resources.memory_max.x: is not a table; write memory_max = "4G"`},
		"inline for a value":     {"[resources]\nmemory_max = { x = 1 }", `resources.memory_max: is a table, not a size; write memory_max = "4G"`},
		"value for a table":      {"resources = 3", `:1:1: resources: is an integer, not a table; write it as a table: [resources]`},
		"value for a tool":       {"[tools]\ncodex = 3", `:2:1: tools.codex: 3 is an integer, not a table`},
		"list of tables":         {"[[resources]]\npids_max = 3", `resources: is written as a list of tables; write [resources] with single brackets`},
		"host key for a tool":    {"[tools.codex]\nmin_free = '1G'", `tools.codex.min_free: concerns all tools, not one; write it below [resources]`},
		"unknown tool key":       {"[tools.codex]\nmemory = '1G'", `tools.codex.memory: "1G" is a string, not a table`},
		"name of a tool":         {"[tools.'../../x']\npids_max = 3", `is not the name of a tool`},
		"match with a path":      {"[tools.x]\nmatch = ['/bin/x']", `"/bin/x" is not the base name of a command`},
		"blank match":            {"[tools.x]\nmatch = ['a', ' ']", `:2:1: tools.x.match: " " is not the base name of a command; write match = ["my-agent", "agent.py"]`},
		"blank pattern":          {"[mcp]\ndeny = [\"\\t\"]", `:2:1: mcp.deny: "\t" is not the name of a tool or a pattern`},
		"syntax":                 {"[resources]\nmemory_max 4G", `:2:`},
		"unclosed":               {"[resources", `:1:`},
		"broken UTF-8":           {"[resources]\nwait = '\xff'", `:2:`},
		"date":                   {"[resources]\nwait = 2026-11-20", `2026-11-20 is a date or time, not a duration`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).user(c.file)
			_, err := w.load()
			list, ok := errors.AsType[*config.Error](err)
			if !ok {
				t.Fatalf("Load: %v; want an *Error", err)
			}
			if !strings.HasPrefix(err.Error(), w.userFile()+":") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error  %s\nwants  %s", err, c.want)
			}
			if len(list.Problems) != 1 {
				t.Errorf("%d problems for one mistake:\n%s", len(list.Problems), err)
			}
			for _, p := range list.Problems {
				if p.Fix == "" {
					t.Errorf("no next step: %s", p)
				}
			}
		})
	}
}

func TestAllMistakesOfAllSourcesAreReportedAtOnce(t *testing.T) {
	w := newWorld(t).user("[resources]\nmemory_max = '4GG'\npids_max = 0\n[tools.codex]\nfoo = 1\n").repo("[resources]\nwait = 'soon'\n").
		env("PLIMSOLL_RESOURCES_GRACE=long", "PLIMSOLL_RESOURCES_MEMORY=1G", "PLIMSOLL_TOOLS_CODEX_COLOR=red").flag("--on-exit", "on_exit", "stay")
	_, err := w.load()
	list, ok := errors.AsType[*config.Error](err)
	if !ok {
		t.Fatalf("Load: %v", err)
	}
	var got []string
	for _, p := range list.Problems {
		got = append(got, filepath.Base(p.Where.String())+" "+p.Key)
	}
	want := []string{
		"config.toml:2:1 resources.memory_max", "config.toml:3:1 resources.pids_max", "config.toml:5:1 tools.codex.foo",
		"PLIMSOLL_RESOURCES_GRACE resources.grace", "PLIMSOLL_RESOURCES_MEMORY resources.memory",
		"PLIMSOLL_TOOLS_CODEX_COLOR tools.codex.color", "--on-exit resources.on_exit",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheListOfProblemsIsBoundedAndCounted(t *testing.T) {
	var b strings.Builder
	b.WriteString("[tools.x]\n")
	for range 150 {
		b.WriteString("nonsense" + strings.Repeat("x", b.Len()%50) + " = 1\n")
	}
	_, err := newWorld(t).user(b.String()).load()
	list, ok := errors.AsType[*config.Error](err)
	if !ok || len(list.Problems) != 100 || list.More < 50 || !strings.Contains(err.Error(), "more") {
		t.Errorf("%v", err)
	}
}

func TestAFileThatIsNoConfigurationIsRefused(t *testing.T) {
	if _, err := newWorld(t).user(strings.Repeat("#\n", 200_000)).load(); err == nil || !strings.Contains(err.Error(), "larger than 256 KiB") {
		t.Errorf("Load = %v", err)
	}
	w := newWorld(t)
	if err := os.MkdirAll(w.userFile(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := w.load(); err == nil || !strings.Contains(err.Error(), w.userFile()) {
		t.Errorf("a directory as the user's file: %v", err)
	}
}

func TestAMissingFileThatWasNamedIsSaid(t *testing.T) {
	w := newWorld(t)
	l := w.env("PLIMSOLL_CONFIG=" + filepath.Join(w.home, "none.toml")).must()
	if len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0].String(), "does not exist") {
		t.Errorf("warnings: %v", l.Warnings)
	}
}

func TestVariablesThatSetNothingAreSaid(t *testing.T) {
	l := newWorld(t).env("PLIMSOLL_MEMORY_MAX=4G", "PLIMSOLL_RUN_ID=1").must()
	if len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0].String(), "did you mean PLIMSOLL_RESOURCES_MEMORY_MAX?") {
		t.Errorf("warnings: %v", l.Warnings)
	}
}

func TestCheckNamesAFileThatIsMissing(t *testing.T) {
	w := newWorld(t).user("[resources]\npids_max = 9\n")
	if err := config.Check(w.userFile()); err != nil {
		t.Error(err)
	}
	if err := config.Check(filepath.Join(w.home, "none.toml")); err == nil || !strings.Contains(err.Error(), "none.toml") {
		t.Errorf("Check of a missing file: %v", err)
	}
}
