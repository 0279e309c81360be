// Package config finds, reads, checks and merges Plimsoll's configuration.
//
//	cfg, err := config.Load(config.Options{})  // an *Error lists all that is wrong, with file:line:column
//	match := cfg.Tool(os.Args[1:])             // npx @openai/codex → tool "codex"
//	s, err := cfg.For(match.Tool)              // every value typed, every default filled in
//
// A value comes from the last of these that gives one: the built-in default, the profile of the tool, the user's file, the project's
// .plimsoll.toml, the environment, a flag; within one of them [tools.NAME] wins. Every value remembers its [Source]. Reading is strict: what
// is wrong is reported all at once, each with its place and a way to repair it. Checking, the file that [Create] writes, [Loaded.Explain],
// flags, variables and docs/configuration.md are all made from one list of keys ([Key]).
//
// A project file may come with a cloned repository: it can make things stricter, but never weaken what protects the machine. Such a value
// is ignored with a warning. A [Loaded] is never changed after Load and safe for concurrent use; everything from outside is injected.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/limit"
)

// ProjectFile is the name of a project's configuration file, searched for in the working directory and every directory above it.
const ProjectFile = ".plimsoll.toml"

// Options configure [Load]. The zero value means this process: its environment, working directory and CPUs.
type Options struct {
	Environ []string // nil means os.Environ()
	Dir     string   // where the search for the project file begins; "" means the working directory
	Dirs    *Dirs    // nil means NewDirs of Environ
	Flags   []Flag
	CPUs    int // of the "auto" of pids_max; 0 means runtime.NumCPU()
}

// Loaded is a checked configuration with all its sources. They are not merged yet, because the values in force depend on the tool.
type Loaded struct {
	// Warnings are problems that do not keep a run from starting; the values they are about were not
	// taken. Those that depend on the tool are in [Settings.Warnings].
	Warnings []Problem

	// ProjectProblems are those of Warnings that are mistakes in the project's file. They stop no
	// run, since the file belongs to whoever wrote the repository; `config check` fails on them.
	ProjectProblems []Problem

	UserFile    string // the user's file that was read, "" if there is none
	ProjectFile string // the project's file that was read, "" if there is none

	byOrigin [6]map[address]entry // by Origin.rank
	names    map[string]string    // tools as written, by folded name
	matches  map[string]string    // tools by the base names of their match lists
	cpus     int
	dir      string
	path     string // PATH, for [Loaded.Tool]
}

// Load reads all sources. If the user's file, the environment or the flags have mistakes, the error is an *[Error] that lists all of them; any
// other error is one of the file system. Mistakes in a project's file are only warnings. A user's file that does not exist is not an error.
func Load(o Options) (*Loaded, error) {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.CPUs <= 0 {
		o.CPUs = runtime.NumCPU()
	}
	if o.Dirs == nil {
		o.Dirs = new(NewDirs(Getenv(o.Environ)))
	}
	l := &Loaded{cpus: o.CPUs, dir: o.Dir, path: Getenv(o.Environ)("PATH"), names: map[string]string{}}
	if l.dir == "" {
		// Without a working directory (it was deleted) there is no project file either.
		l.dir, _ = os.Getwd()
	}
	var probs problems
	warn := func(p Problem) { l.Warnings = append(l.Warnings, p) }
	l.byOrigin[OriginDefault.rank()], l.byOrigin[OriginProfile.rank()] = defaults()

	user, err := o.Dirs.ConfigFile()
	switch {
	case err == nil:
		if l.UserFile, err = l.readUserFile(user, OriginUser, &probs); err != nil {
			return nil, err
		}
		if l.UserFile == "" && Getenv(o.Environ)("PLIMSOLL_CONFIG") != "" {
			warn(Problem{
				Where: Source{Origin: OriginEnvironment, Name: "PLIMSOLL_CONFIG"},
				What:  "file " + user + " does not exist, so the built-in defaults count", Fix: "plimsoll config init writes it",
			})
		}
	case errors.Is(err, ErrNoHome):
	default:
		return nil, err
	}
	if project := findProjectFile(l.dir, l.UserFile, warn, func(p Problem) { l.projectProblem(warn, p) }); project != "" {
		l.ProjectFile = l.readProjectFile(project, warn)
	}
	l.byOrigin[OriginEnvironment.rank()] = readEnviron(o.Environ, &probs, warn)
	l.byOrigin[OriginFlag.rank()] = readFlags(o.Flags, &probs)
	if err := probs.err(); err != nil {
		return nil, err
	}
	for _, entries := range l.byOrigin {
		for at, e := range entries {
			if at.tool != "" && e.tool != "" {
				l.names[at.tool] = e.tool
			}
		}
	}
	for _, a := range profile.All() {
		l.names[a.Name] = a.Name
	}
	l.matches = l.matchLists()
	if err := l.checkTables(); err != nil {
		// What does not fit together may do so without the project's file; then it is the file's fault.
		bare := l.WithoutProject()
		if l.ProjectFile == "" || bare.checkTables() != nil {
			return nil, err
		}
		for text := range strings.Lines(err.Error()) {
			bare.projectProblem(func(p Problem) { bare.Warnings = append(bare.Warnings, p) }, Problem{
				Where: Source{Origin: OriginProject, File: l.ProjectFile}, What: "is not used: " + strings.TrimSpace(text), Fix: "repair it",
			})
		}
		return bare, nil
	}
	l.projectAgents(warn)
	return l, nil
}

// checkTables checks the tables whose values depend on each other: servers, instances of Argo CD, and agents. The error is about the first of
// these that has mistakes.
func (l *Loaded) checkTables() error {
	_, servers := l.Servers("")
	if servers != nil {
		return servers
	}
	if _, err := l.ArgoCD(); err != nil {
		return err
	}
	_, err := l.Agents()
	return err
}

// WithoutProject returns a copy of l without the values of the project's file.
func (l *Loaded) WithoutProject() *Loaded {
	next := *l
	next.byOrigin[OriginProject.rank()] = nil
	next.Warnings = slices.Clone(l.Warnings)
	next.ProjectProblems = slices.Clone(l.ProjectProblems)
	return &next
}

// With returns a copy of l that was loaded with these flags instead of its own. The error is an *[Error] about the flags; whether servers and
// agents still fit together is not checked again.
func (l *Loaded) With(flags ...Flag) (*Loaded, error) {
	var probs problems
	next := *l
	next.byOrigin[OriginFlag.rank()] = readFlags(flags, &probs)
	if err := probs.err(); err != nil {
		return nil, err
	}
	return &next, nil
}

// readUserFile reads a configuration file into l and returns its path, "" if it does not exist. Mistakes in it are added to probs.
func (l *Loaded) readUserFile(path string, origin Origin, probs *problems) (string, error) {
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("configuration: %w", err)
	}
	l.byOrigin[origin.rank()] = parseDocument(path, origin, data, probs)
	return path, nil
}

// readProjectFile reads a project's file into l and returns its path, "" if it was not read. The file comes with the repository, so mistakes
// in it are only warnings, and the rest of the file counts.
func (l *Loaded) readProjectFile(path string, warn func(Problem)) string {
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		l.projectProblem(warn, Problem{Where: Source{Origin: OriginProject, File: path}, What: "was not read: " + reasonOf(err), Fix: "repair it or remove it"})
		return ""
	}
	var probs problems
	entries := parseDocument(path, OriginProject, data, &probs)
	if err := probs.err(); err != nil {
		for _, p := range probs.list[:min(len(probs.list), maxProjectWarnings)] {
			l.projectProblem(warn, p)
		}
		if more := len(probs.list) + probs.more - maxProjectWarnings; more > 0 {
			l.projectProblem(warn, Problem{Where: Source{Origin: OriginProject, File: path}, What: limit.Count(more, "further mistake"), Fix: "plimsoll config check lists them"})
		}
	}
	l.byOrigin[OriginProject.rank()] = entries
	return path
}

// maxProjectWarnings bounds the warnings about a project's file.
const maxProjectWarnings = 5

// projectProblem keeps a problem of the project file and reports it to warn.
func (l *Loaded) projectProblem(warn func(Problem), p Problem) {
	l.ProjectProblems = append(l.ProjectProblems, p)
	warn(p)
}

// reasonOf returns an error of the file system without the path.
func reasonOf(err error) string {
	for pe := (*fs.PathError)(nil); errors.As(err, &pe); {
		err = pe.Err
	}
	return err.Error()
}

// Check reads files as [Load] reads the user's and returns an *[Error] with all mistakes in them, nil if there are none. Unlike with Load, a
// missing file is a mistake, and whether servers, instances and agents fit together is not checked.
func Check(files ...string) error {
	var probs problems
	for _, f := range files {
		data, err := readFile(f)
		if err != nil {
			fix := "plimsoll config init writes one"
			if !errors.Is(err, fs.ErrNotExist) {
				fix = "name a file that you can read"
			}
			for pe := (*fs.PathError)(nil); errors.As(err, &pe); { // the place is said already
				err = pe.Err
			}
			probs.add(Problem{Where: Source{Origin: OriginUser, File: f}, What: err.Error(), Fix: fix})
			continue
		}
		parseDocument(f, OriginUser, data, &probs)
	}
	return probs.err()
}

// findProjectFile returns the nearest project file in dir or a directory above it, "" if there is none. The user's own file is not returned. A
// file that another user may have put into a directory that all can write, such as /tmp, is not read, which is a warning; a link, or what is
// neither file nor directory, is a problem. Beyond any of these the search does not go on.
func findProjectFile(dir, user string, warn, problem func(Problem)) string {
	for ; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		file := filepath.Join(dir, ProjectFile)
		fi, err := os.Lstat(file)
		if err == nil && !fi.Mode().IsRegular() && !fi.IsDir() {
			if own, ownErr := os.Stat(user); ownErr == nil {
				if led, err := os.Stat(file); err == nil && os.SameFile(own, led) {
					return ""
				}
			}
			problem(Problem{
				Where: Source{Origin: OriginProject, File: file}, What: "was not read: it is no regular file, and a link is not followed",
				Fix: "put the file itself there",
			})
			return ""
		}
		if err == nil && fi.Mode().IsRegular() {
			if own, err := os.Stat(user); err == nil && os.SameFile(own, fi) {
				return ""
			}
			if isPlanted(dir, fi) {
				warn(Problem{
					Where: Source{Origin: OriginProject, File: file}, What: "was not read: another user owns it, in a directory that all can write",
					Fix: "move the project to a directory of your own",
				})
				return ""
			}
			return file
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
	}
	return ""
}

// isPlanted reports whether another user may have put a file into dir: everybody can write there, and the file belongs neither to this user nor to
// root, or its owner is not known. On Windows, and if dir cannot be looked at, it returns false.
func isPlanted(dir string, file fs.FileInfo) bool {
	parent, err := os.Stat(dir)
	if err != nil || runtime.GOOS == "windows" || parent.Mode().Perm()&0o002 == 0 {
		return false
	}
	owner, err := ownerOf(file)
	return err != nil || owner != os.Getuid() && owner != 0
}

// Getenv returns a function like os.Getenv for a list of variables. Of several equal names the last counts, as in exec.
func Getenv(environ []string) func(string) string {
	return func(name string) string {
		for _, pair := range slices.Backward(environ) {
			if len(pair) > len(name) && pair[len(name)] == '=' && pair[:len(name)] == name {
				return pair[len(name)+1:]
			}
		}
		return ""
	}
}
