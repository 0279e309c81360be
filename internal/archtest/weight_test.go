package archtest

import (
	"bufio"
	"bytes"
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What the binary may weigh. Who has to raise one of these says why in the commit.
const (
	// maxBinary is the stripped binary of linux/amd64 without the names of source files, in bytes: it was 99 MB when one import kept every method of every
	// type alive, and two generated clients were half of all code. A tool that one downloads before it helps is small.
	// The screen of `plimsoll top` (bubbletea with its tables of Unicode) is 1.4 MB of it; traces by OTLP as JSON, without an SDK, are 0.15 MB.
	// It was at 39.00 MB when what the daemon says to systemd (our own, without a library) put 2 KB over it.
	// `plimsoll shellenv` and `plimsoll setup`, the way to it for who does not want to type more, are 0.15 MB.
	// The window of our own agents in what is kept of runs, and pages of tables for the dashboard, are 0.02 MB.
	// What tells an agent of its limits (`plimsoll mcp runs`) is 0.05 MB.
	// The memory (its store and index, notes, facts, tools for agents, 13 commands, what is captured of conversations) is 0.95 MB, more than the 0.5 that were meant.
	// Facts, `plimsoll memory learn`, and the memory among the servers of a run are 0.12 MB.
	// Forgetting in kept cuts and sessions is 0.02 MB.
	// The dashboard's search in the memory, and to whom a record was given, are 0.03 MB.
	// Where one task of a conversation ends and another begins (internal/window/topic) is 0.03 MB.
	// Search in the memory by meaning (a client for embeddings, its file, making and joining) is 0.13 MB.
	// Facts in the background, forgetting in results, runs, tasks and logs, and the metrics of the memory are 0.18 MB.
	// Both vocabularies of package tokens share one text, in which tokens overlap: 1.54 MB less, without more work at any look.
	// Prometheus' library for Go, with protobuf and procfs, is no longer part of it: 2.1 MB less. The writer of the text format instead is 0.02 MB.
	// Reading and counting only the messages that an edit is in, and words that were met before, are 0.04 MB.
	// The times that a question to the memory names are 0.01 MB.
	// It was at 37.47 MB, and a section grows by pages of 4 KB: two of them more.
	// What was sent once is sent again: the rules and refusals of bound reasoning (0.03 MB), contents that doom a session with images made smaller
	// (0.10), the provider's own summary in the background (0.08), pairs of tools at the provider (0.09), counting of every kind and by need
	// (0.06), stalled answers and the rest of the proxy (0.12), with their tables of functions: 0.56 MB, more than the 0.3 that were meant.
	// All slices of structs are sorted by one copy of the code (internal/sorting): 0.76 MB less. Handing on what is known of a conversation
	// is 0.1 MB.
	// What holds where others write (links of projects, files with holes, claims beyond the machine, parts of results, names on pages) is 0.05 MB.
	// Secrets on command lines (a table of 250 token formats, programs with passwords under short flags) are 0.06 MB; what a hostile machine
	// needs (a proxy variable that is read strictly, certificates that are read again, AWS's clock, deflate, more of an answer in traces) 0.04.
	// What a run may do to whom (the fence, growing limits, runtimes, work handed to others, reaping, writers) is 0.17 MB.
	// Bedrock Converse with its event frames (0.14), agents behind an adapter and in an editor (0.1), an agent that speaks A2A as a tool and
	// providers by the original's variables (0.1) are 0.5 MB, more than the 0.4 that were meant.
	// What a dead agent leaves for the next, results summarised by a model and whole at it (0.05) came with the agents' own rules.
	// Definitions of tools that are bounded and searched, Bedrock's Converse for our own agents and a token from a command are 0.05, servers in YAML 0.05.
	// What definitions take in top, reports and setup (0.02), servers of Vibe and remote ones in YAML (0.04).
	// Reading brotli, 0.12 of it a dictionary, is 0.21.
	// Answers that were used again, arguments of ours, modes of schemas, older ledgers, the back-test and fmt's scanner are gone: 0.2 less.
	// The question of setup about the memory, with the models of this machine, and its one line (0.01), less what settings went.
	// What was given and is taken back, standing instructions and what an import comes to: 0.2.
	// Words, phrases and patterns of the memory in texts that their first use reads (internal/lazy.Lists) and one copy of what makes a regular
	// expression later are 0.21 MB less, sorting that costs a type one closure 0.15: what is given and taken back comes to 0.13 MB then.
	// What the dashboard says of runs in words (verdicts, sentences, the command that helps) and the host's memory by run are 0.04 MB.
	// Limits, budgets and holds of spending are 0.13 MB, the queue for what providers let through 0.12, loops of any agent 0.05, idle runs 0.1,
	// and memory by process with its chart, names of runs and wrapped tables 0.1.
	// What hosts share is NATS' client (1.45, with nkeys and curve25519) and our own buckets, history, budgets, rates, sealed windows and hosts; engines that place
	// runs are Slurm's commands and a client for Kubernetes: 2.0 MB together.
	maxBinary = 41_400_000
	// maxSorts is how many types are sorted by a copy of package slices' own code, some 20 KB each with its tables: those of others' code, those
	// that are one type to the compiler (pointers, strings, numbers), and those in the memory's index, where speed counts.
	maxSorts = 20
	// maxPackages is how many packages it is compiled of, those of the standard library (224) included: it was 737. Each costs
	// everybody who builds, and the gate in every variant. `plimsoll top` needs 16 of others; traces are two of our own; `plimsoll upgrade --check` is one, with the comparison of
	// semantic versions (golang.org/x/mod/semver).
	// `plimsoll shellenv` and `plimsoll setup` are two.
	// What containers need is two.
	// The memory is ten: its store, archive and index, vectors, ranking, notes, tools, capture, and what joins them.
	// Prometheus' library for Go was 48.
	// Bound reasoning, mending, promptcache, refusals, the provider's summary and its jobs are six, image/jpeg and golang.org/x/image what they bring.
	// What was used last (internal/recent) and sorting are two, with which four of a kind and 0.76 MB went.
	// What reads the variables of an HTTP proxy (internal/forwardproxy) is one.
	// The fence, runtimes, and secrets with their table are three.
	// What is known of agents, what an editor says to one, another agent as a tool, our agents' clouds, a2a-go's client, and event frames are six.
	// What leaves one processor before all else (internal/footprint/first) is one, brotli one.
	// What reaches a prompt (internal/memory/recall), which word is the newest, which is an instruction for good, and what states something are four.
	// What keeps pages small (internal/footprint) is one beside what leaves one processor.
	// The table of stores (internal/app/stores) is one.
	// NATS' client with its cryptography is 17; what hosts share, and the engines that place runs, are ten.
	maxPackages = 570
	// maxInit is what one of our own packages may make before main, in bytes: every start pays for it, and a supervisor keeps it beside an
	// agent for hours. Tables that a command wants are made by its first look (sync.OnceValue, internal/lazy) or are a switch. config
	// has the schema, 22 KB.
	maxInit = 24_000
)

// tooHeavy are packages that the binary must not be made of.
var tooHeavy = map[string]string{
	"google.golang.org/grpc":                 "it brings html/template by way of net/trace, and that switches off the linker's removal of unused methods (34 MB)",
	"html/template":                          "it finds methods by name, so that the linker has to keep all of them",
	"github.com/openai/openai-go":            "a generated client for one POST: 27 MB with the next; it is a client in tests (e2e/clients)",
	"github.com/anthropics/anthropic-sdk-go": "as the one above",
	"github.com/prometheus/client_golang":    "with protobuf and procfs its initialisers take 0.7 ms of every start, and it is 2.1 MB, for a text that internal/watch/metrics writes itself",
	"google.golang.org/protobuf":             "its registries are filled in every start",
	"expvar":                                 "it shows the command line to everybody whom http.DefaultServeMux serves",
	"github.com/a2aproject/a2a-go/a2a":       "the SDK of A2A 0.3 brings grpc; internal/agent/a2a/a2a03 speaks 0.3",
}

// The budget of the binary holds, and what breaks it is named with what brought it.
func TestWeight(t *testing.T) {
	linux := []string{"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS="}
	packages := strings.Fields(run(t, linux, "go", "list", "-deps", "./cmd/plimsoll"))
	for _, p := range packages {
		for heavy, why := range tooHeavy {
			if p == heavy || strings.HasPrefix(p, heavy+"/") {
				t.Errorf("the binary has %s in it, by way of %s: %s", p, strings.Join(bringing(t, linux, p), ", "), why)
			}
		}
	}
	if len(packages) > maxPackages {
		t.Errorf("the binary is made of %d packages, more than %d; by module: %s", len(packages), maxPackages, byModule(packages))
	}

	file := filepath.Join(t.TempDir(), "plimsoll")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w -dumpdep", "-o", file, "./cmd/plimsoll")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), linux...)
	said, err := cmd.StderrPipe() // where -dumpdep writes
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found, last, sorts := 0, "", map[string]bool{}
	lines := bufio.NewScanner(said)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		// A function that finds methods by a name that is known only when it runs.
		if bytes.Contains(lines.Bytes(), []byte("<ReflectMethod>")) {
			if found++; found <= 5 {
				t.Errorf("the linker has to keep every exported method of every type: %s", lines.Text())
			}
		}
		_, uses, link := strings.Cut(lines.Text(), " -> ")
		if !link {
			last = lines.Text()
		}
		for _, name := range []string{"slices.pdqsortCmpFunc[", "slices.stableCmpFunc["} {
			if strings.HasPrefix(uses, name) && strings.HasSuffix(uses, "]") {
				sorts[uses] = true
			}
		}
	}
	if err := errors.Join(lines.Err(), cmd.Wait()); err != nil {
		t.Fatalf("go build: %v: %s", err, last)
	}
	size := sizeWithoutPaths(t, file)
	if size > maxBinary {
		t.Errorf("the binary has %d bytes, more than %d; by module: %s", size, int64(maxBinary), byModule(packages))
	}
	if len(sorts) > maxSorts {
		t.Errorf("%d types have a copy of package slices' sorting, more than %d; sort with internal/sorting: %s",
			len(sorts), maxSorts, strings.Join(slices.Sorted(maps.Keys(sorts)), ", "))
	}
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		checkInits(t, file)
	}
	t.Logf("%d packages, %.2f MB without paths, %d sorts", len(packages), float64(size)/1e6, len(sorts))
}

// checkInits reads what the binary makes before main.
func checkInits(t *testing.T, binary string) {
	cmd := exec.CommandContext(t.Context(), binary, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s version: %v\n%s", binary, err, trace.Bytes())
	}
	read, before, first := 0, 0, false
	for line := range strings.Lines(trace.String()) {
		words := strings.Fields(line) // init NAME @1.2 ms, 0.1 ms clock, 512 bytes, 3 allocs
		if len(words) != 11 || words[0] != "init" {
			continue
		}
		made, err := strconv.Atoi(words[7])
		if err != nil {
			t.Fatalf("inittrace has no number of bytes in %q", line)
		}
		if first = first || words[1] == module+"/internal/footprint/first"; !first {
			before += made
		}
		if !strings.HasPrefix(words[1], module+"/") {
			continue
		}
		if read++; made > maxInit {
			t.Errorf("%s makes %d bytes before main, more than %d", words[1], made, maxInit)
		}
	}
	if !first || before > maxInit {
		t.Errorf("%d bytes are made before one processor is left to the process", before)
	}
	if read < 10 {
		t.Errorf("inittrace tells of %d of our own packages", read)
	}
}

// bringing are the packages that import p.
func bringing(t *testing.T, environment []string, p string) []string {
	var by []string
	for line := range strings.Lines(run(t, environment, "go", "list", "-deps", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./cmd/plimsoll")) {
		words := strings.Fields(line)
		if slices.Contains(words[1:], p) {
			by = append(by, words[0])
		}
	}
	return by
}

// byModule tells how many packages come from where, the most first.
func byModule(packages []string) string {
	counts := map[string]int{}
	for _, p := range packages {
		parts := strings.SplitN(p, "/", 4)
		from := "the standard library"
		if strings.Contains(parts[0], ".") {
			from = strings.Join(parts[:min(len(parts), 3)], "/")
		}
		counts[from]++
	}
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return counts[b] - counts[a] })
	var out []string
	for _, name := range names[:min(len(names), 12)] {
		out = append(out, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(out, ", ")
}

// sizeWithoutPaths returns the size of a program without the names of its source files, which are longer where somebody's folders are.
func sizeWithoutPaths(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	program, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	lines, err := program.Section(".gopclntab").Data()
	if err != nil {
		t.Fatal(err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(lines, program.Section(".text").Addr))
	if err != nil {
		t.Fatal(err)
	}
	size := info.Size()
	for name := range table.Files {
		size -= int64(len(name)) + 1
	}
	return size
}
