package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// ProjectFile is the name of a project's configuration file, searched for in the working
// directory and every directory above it.
const ProjectFile = ".plimsoll.toml"

// Options say where to look. The zero value means this process: its environment, working
// directory and CPUs.
type Options struct {
	Environ []string // nil means os.Environ()
	Dir     string   // where the search for the project file begins; "" means the working directory
	Dirs    *Dirs    // nil means NewDirs of Environ
	Flags   []Flag
	CPUs    int // of the "auto" of pids_max; 0 means runtime.NumCPU()
}

// Loaded is a checked configuration: every source, not merged yet, because what is in
// force depends on the tool.
type Loaded struct {
	// Warnings are what was not taken but does not keep a run from starting. Those that
	// depend on the tool are in [Settings.Warnings].
	Warnings []Problem

	UserFile    string // the user's file that was read, "" if there is none
	ProjectFile string // the project's file that was read, "" if there is none

	byOrigin [6]map[address]entry // by Origin.rank
	names    map[string]string    // tools as written, by folded name
	matches  map[string]string    // tools by the base names of their match lists
	cpus     int
	dir      string
	path     string // PATH, for [Loaded.Tool]
}

// Load reads all sources. The error is an *[Error] when a source says something wrong, and
// lists everything that is; else it is about the file system. A user's file that does not
// exist is no error.
func Load(o Options) (*Loaded, error) {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.CPUs <= 0 {
		o.CPUs = runtime.NumCPU()
	}
	if o.Dirs == nil {
		o.Dirs = new(NewDirs(getenvOf(o.Environ)))
	}
	l := &Loaded{cpus: o.CPUs, dir: o.Dir, path: getenvOf(o.Environ)("PATH"), names: map[string]string{}}
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
		if l.UserFile, err = l.file(user, OriginUser, &probs); err != nil {
			return nil, err
		}
		if l.UserFile == "" && getenvOf(o.Environ)("PLIMSOLL_CONFIG") != "" {
			warn(Problem{
				Where: Source{Origin: OriginEnvironment, Name: "PLIMSOLL_CONFIG"},
				What:  "file " + user + " does not exist, so the built-in defaults count", Fix: "plimsoll config init writes it",
			})
		}
	case errors.Is(err, ErrNoHome):
	default:
		return nil, err
	}
	if project := findProjectFile(l.dir, l.UserFile, warn); project != "" {
		if l.ProjectFile, err = l.file(project, OriginProject, &probs); err != nil {
			return nil, err
		}
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
	for name := range profiles {
		l.names[name] = name
	}
	l.matches = l.matchLists()
	if _, err := l.Servers(""); err != nil {
		return nil, err
	}
	if _, err := l.ArgoCD(); err != nil {
		return nil, err
	}
	if _, err := l.Agents(); err != nil {
		return nil, err
	}
	l.projectAgents(warn)
	return l, nil
}

// With returns a copy of l with these flags in place of those it was loaded with. The
// error is an *[Error].
func (l *Loaded) With(flags ...Flag) (*Loaded, error) {
	var probs problems
	next := *l
	next.byOrigin[OriginFlag.rank()] = readFlags(flags, &probs)
	if err := probs.err(); err != nil {
		return nil, err
	}
	return &next, nil
}

// file reads one file; it returns "" for one that does not exist.
func (l *Loaded) file(path string, origin Origin, probs *problems) (string, error) {
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

// Check reads files as [Load] does and reports all that is wrong in them, as an *[Error].
// Unlike Load it demands that they exist.
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

// findProjectFile looks in dir and every directory above it. The user's own file is not
// taken a second time. A file that somebody else may have put into a directory that all can
// write, as /tmp is, is not taken at all.
func findProjectFile(dir, user string, warn func(Problem)) string {
	for ; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		file := filepath.Join(dir, ProjectFile)
		fi, err := os.Stat(file)
		if err == nil && fi.Mode().IsRegular() {
			if own, err := os.Stat(user); err == nil && os.SameFile(own, fi) {
				return ""
			}
			if planted(dir, fi) {
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

func planted(dir string, file fs.FileInfo) bool {
	parent, err := os.Stat(dir)
	if err != nil || runtime.GOOS == "windows" || parent.Mode().Perm()&0o002 == 0 {
		return false
	}
	owner, err := ownerOf(file)
	return err != nil || owner != os.Getuid() && owner != 0
}

// getenvOf is os.Getenv over a list; the last of several equal names counts, as in exec.
func getenvOf(environ []string) func(string) string {
	return func(name string) string {
		for _, pair := range slices.Backward(environ) {
			if len(pair) > len(name) && pair[len(name)] == '=' && pair[:len(name)] == name {
				return pair[len(name)+1:]
			}
		}
		return ""
	}
}
