package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// A pkg is one package of the module as go list tells it, over all systems together.
type pkg struct {
	path  string // below the module: "process/sandbox"; "." is the module's root
	name  string
	uses  map[string]bool // full import paths of the package itself
	tests map[string]bool // the same of its tests
}

// systems are those whose files are read: an import that only windows files make counts.
var systems = []string{"linux", "darwin", "windows"}

// graph reads the module's packages. A package that does not compile still has its
// imports read: compiling is for other steps to say.
func graph(t *testing.T) []*pkg {
	t.Helper()
	if graphRead == nil {
		graphRead = readGraph(t)
	}
	return graphRead
}

// graphRead is what the first test that asked has read: it takes seconds.
var graphRead []*pkg

func readGraph(t *testing.T) []*pkg {
	t.Helper()
	found := map[string]*pkg{}
	for _, system := range systems {
		out := run(t, []string{"GOOS=" + system, "CGO_ENABLED=0"},
			"go", "list", "-e", "-json=ImportPath,Name,Imports,TestImports,XTestImports", "./...")
		dec := json.NewDecoder(strings.NewReader(out))
		for {
			var row struct {
				ImportPath, Name                   string
				Imports, TestImports, XTestImports []string
			}
			if err := dec.Decode(&row); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			p := found[row.ImportPath]
			if p == nil {
				below := strings.TrimPrefix(strings.TrimPrefix(row.ImportPath, module), "/")
				p = &pkg{path: below, uses: map[string]bool{}, tests: map[string]bool{}}
				found[row.ImportPath] = p
			}
			if row.Name != "" {
				p.name = row.Name
			}
			for _, i := range row.Imports {
				p.uses[i] = true
			}
			for _, i := range slices.Concat(row.TestImports, row.XTestImports) {
				if i != row.ImportPath {
					p.tests[i] = true
				}
			}
		}
	}
	if len(found) < 3 {
		t.Fatalf("go list sees only %d packages: this test would hold nothing", len(found))
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *pkg) int { return strings.Compare(a.path, b.path) })
}

// below tells whether a package path is folder, or lies in it. A plane is one folder here, though what others may import of it stands
// at the top (window/wire) and the rest below internal (internal/window/proxy).
func below(path string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		return strings.HasPrefix(path+"/", folder+"/") || strings.HasPrefix(path+"/", "internal/"+folder+"/")
	})
}

// planes and everything else of Plimsoll that a rule speaks of.
var (
	planes = []string{"process", "window", "tools", "argocd", "agent", "memory"}
	above  = []string{"fleet", "watch"}
)

// A rule forbids packages below from to import packages of Plimsoll for which
// forbidden holds. Tests of those packages are held to it too, unless testsMay.
type rule struct {
	why       string
	from      []string // folders; none means every package
	except    []string // folders in from that the rule does not bind
	forbidden func(to string) bool
	testsMay  bool
}

var rules = []rule{
	{
		why:       "the process plane works for agents that use no other plane; what it needs comes as an interface that app fills",
		from:      []string{"process"},
		forbidden: func(to string) bool { return below(to, "window", "tools", "agent") },
	},
	{
		why:       "the window plane sits in other people's traffic and must be usable alone; what it needs comes as an interface that app fills",
		from:      []string{"window"},
		forbidden: func(to string) bool { return below(to, "process", "tools", "agent") },
	},
	{
		why:       "the tools plane must be usable alone; what it needs comes as an interface that app fills",
		from:      []string{"tools", "argocd"},
		forbidden: func(to string) bool { return below(to, "process", "window", "agent") },
	},
	{
		why:       "argocd is one application on the tools plane: what bounds results and speaks MCP works for any server",
		from:      []string{"tools"},
		forbidden: func(to string) bool { return below(to, "argocd") },
	},
	{
		why:       "an agent runs anywhere, also where no process can be limited; it may use window and tools only",
		from:      []string{"agent"},
		forbidden: func(to string) bool { return below(to, "process") },
	},
	{
		why:       "the memory plane holds whatever others give it, and must be usable alone; what a client said and what it is shown is for app to join",
		from:      []string{"memory"},
		forbidden: func(to string) bool { return !below(to, "memory", "limit", "journal", "internal") },
	},
	{
		why:       "what a plane remembers, or is reminded of, comes as an interface that app fills with the memory",
		from:      []string{"process", "window", "tools", "argocd", "agent"},
		forbidden: func(to string) bool { return below(to, "memory") },
	},
	{
		why:       "limit is the vocabulary of all planes: it knows nothing of Plimsoll",
		from:      []string{"limit"},
		forbidden: func(to string) bool { return !below(to, "limit") },
	},
	{
		why:       "every plane writes into journal, so it knows no plane, and of Plimsoll only limit",
		from:      []string{"journal"},
		forbidden: func(to string) bool { return !below(to, "limit", "journal") },
	},
	{
		why:       "fleet and watch look at the planes; a plane that knew them could not run without them",
		from:      slices.Concat(planes, []string{"limit", "journal", "config"}),
		forbidden: func(to string) bool { return below(to, above...) },
	},
	{
		why:       "app wires all packages, so a package that imported it would import everything; what uses the whole program is cmd, bench and e2e",
		except:    []string{"app", "cmd", "bench", "e2e"},
		forbidden: func(to string) bool { return below(to, "app") },
	},
	{
		why:       "app is the face: it calls the families of commands, and what they share is in core and listen",
		from:      []string{"app"},
		forbidden: func(to string) bool { return to == "internal/app" },
	},
	{
		why:       "commands, benchmarks and these tests are the outermost layer: nothing rests on them",
		except:    []string{"cmd", "bench", "e2e", "internal/archtest"},
		forbidden: func(to string) bool { return below(to, "cmd", "bench", "e2e", "internal/archtest") },
	},
	{
		why:       "a command maps flags to options of app and renders what comes back: logic there can be reached by no other front",
		from:      []string{"cmd"},
		forbidden: func(to string) bool { return !below(to, commandMayUse...) },
		testsMay:  true, // a command's test may look at what the command left behind
	},
}

// commandMayUse lists what cmd may import of Plimsoll.
var commandMayUse = []string{
	"cmd",                // its own internal packages
	"app",                // what it calls
	"config",             // the types of settings that flags set
	"journal",            // the report and events it renders
	"limit",              // sizes, as flags and in tables
	"internal/footprint", // the process itself, before there is an app
}

// families are the folders below app and what each may import of the others: what it is
// opened with, never what opens it.
var families = map[string][]string{
	"app/core":      nil,
	"app/listen":    nil,
	"app/stores":    nil,
	"app/memories":  {"app/core", "app/stores"},
	"app/mcp":       {"app/core", "app/listen", "app/memories", "app/stores"},
	"app/window":    {"app/core", "app/listen"},
	"app/remember":  {"app/core", "app/memories"},
	"app/agents":    {"app/core", "app/listen", "app/mcp", "app/memories", "app/window", "app/remember"},
	"app/demo":      {"app/core", "app/listen", "app/mcp", "app/agents"},
	"app/submit":    {"app/core", "app/run"},
	"app/watch":     {"app/core", "app/run", "app/submit", "app/listen", "app/mcp", "app/memories", "app/window"},
	"app/run":       {"app/core", "app/mcp", "app/window", "app/agents", "app/remember", "app/stores"},
	"app/setup":     {"app/shellenv"},
	"app/shellenv":  nil,
	"app/upgrade":   {"app/core"},
	"app/container": {"app/core", "app/listen"},
	"app/daemon":    {"app/core", "app/listen", "app/watch", "app/mcp", "app/window", "app/agents", "app/remember"},
}

func TestFamiliesOfCommands(t *testing.T) {
	for _, p := range graph(t) {
		family := strings.TrimPrefix(p.path, "internal/")
		if path.Dir(family) != "app" {
			continue
		}
		may, known := families[family]
		if !known {
			t.Errorf("%s: write into families what it may import of the other folders of app", p.path)
			continue
		}
		for full := range p.uses {
			to, ours := strings.CutPrefix(full, module+"/internal/")
			if ours && below(to, "app") && !slices.Contains(may, to) {
				t.Errorf("%s imports %s: a family of commands knows those that it is opened with (%s); what it needs of others comes as an option", p.path, to, strings.Join(may, ", "))
			}
		}
	}
}

// helpersOfTests know nothing of Plimsoll: the test of any package may use them.
var helpersOfTests = []string{"internal/testing/golden", "internal/testing/testfile", "internal/testing/wait"}

func TestForbiddenImports(t *testing.T) {
	for _, p := range graph(t) {
		for _, r := range rules {
			if r.from != nil && !below(p.path, r.from...) || below(p.path, r.except...) {
				continue
			}
			for full := range p.uses {
				if to, ours := strings.CutPrefix(full, module+"/"); ours && r.forbidden(to) {
					t.Errorf("%s imports %s: %s", p.path, to, r.why)
				}
			}
			for full := range p.tests {
				if to, ours := strings.CutPrefix(full, module+"/"); ours && !r.testsMay && !slices.Contains(helpersOfTests, to) && r.forbidden(to) {
					t.Errorf("a test of %s imports %s: %s", p.path, to, r.why)
				}
			}
		}
	}
}

// commandLibraries are the foreign modules a command may import: those that read flags
// and draw. Anything else does work, and work is for app.
var commandLibraries = []string{
	"github.com/spf13/cobra",
	"github.com/spf13/pflag",
	"charm.land/fang/v2",
	"charm.land/lipgloss/v2",
	"github.com/charmbracelet/x/ansi",
	"github.com/charmbracelet/colorprofile",
	"golang.org/x/term", // is it a terminal, and how wide
}

// commandMustNot are packages of the standard library that have no place in a command.
var commandMustNot = map[string]string{
	"os/exec":      "starting processes is for process/sandbox",
	"net":          "talking to others is for the planes",
	"net/http":     "talking to others is for the planes",
	"syscall":      "what differs between systems is hidden by the planes",
	"database/sql": "a command keeps nothing",
}

func TestCommandsHoldNoLogic(t *testing.T) {
	for _, p := range graph(t) {
		if !below(p.path, "cmd") {
			continue
		}
		for full := range p.uses {
			if why, bad := commandMustNot[full]; bad {
				t.Errorf("%s imports %s: %s", p.path, full, why)
			}
			foreign := strings.Contains(strings.SplitN(full, "/", 2)[0], ".") && !strings.HasPrefix(full, module)
			if foreign && !below(full, commandLibraries...) {
				t.Errorf("%s imports %s: a command only reads flags and draws; work is for app, or add the library to commandLibraries with what it draws", p.path, full)
			}
		}
	}
}

// emptyNames say nothing about what is inside, so everything ends up there.
var emptyNames = []string{"context", "util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "types", "manager"}

func TestPackageNames(t *testing.T) {
	owner := map[string]string{}
	for _, p := range graph(t) {
		if below(p.path, "examples") {
			continue // an example is called after what it shows, and nobody imports it
		}
		name := p.name
		if name == "main" || name == "" {
			name = path.Base(p.path) // commands are known by their folder
		} else if base := path.Base(p.path); p.path != "" && base != name {
			t.Errorf("%s is package %s: the folder and the package have one name, so that a reader of an import knows the word used below it", p.path, name)
		}
		if slices.Contains(emptyNames, name) {
			t.Errorf("%s: %q says nothing about what is inside; name it after the idea it holds", p.path, name)
		}
		if below(path.Dir(p.path), "tools/mcp") {
			name = "mcp" + name // importers outside call client and server mcpclient and mcpserver
		}
		if other, taken := owner[name]; taken {
			t.Errorf("%s and %s are both called %s: a reader could not tell which one a name means", p.path, other, name)
		}
		owner[name] = p.path
	}
}
