package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

// maxGitConfig bounds the git configuration that is read for a remote's address.
const maxGitConfig = 256 << 10

// Shared returns a name for the project that is the same on every host: a hash of the host and path of its git remote; without a remote a
// hash of the name of its directory. Neither can be read from it.
func (p Project) Shared() string {
	kind, of := "d", p.Name
	if remote := p.remote(); remote != "" {
		kind, of = "g", remote
	}
	sum := sha256.Sum256([]byte(kind + ":" + of))
	return kind + hex.EncodeToString(sum[:12])
}

// remote returns the host and path of the remote called origin, else of the first one; "" for none.
func (p Project) remote() string {
	dir := filepath.Join(p.Root, ".git")
	// In a work tree .git is a file that names a directory, in which another one names the repository's own.
	if text, err := statefile.ReadLinked(dir, 4<<10); err == nil {
		to, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir:")
		if !ok {
			return ""
		}
		dir = below(p.Root, strings.TrimSpace(to))
		if text, err := statefile.ReadLinked(filepath.Join(dir, "commondir"), 4<<10); err == nil {
			dir = below(dir, strings.TrimSpace(string(text)))
		}
	}
	text, err := statefile.ReadLinked(filepath.Join(dir, "config"), maxGitConfig)
	if err != nil {
		return ""
	}
	return remoteIn(string(text))
}

// below returns path, joined to dir if it is relative.
func below(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// remoteIn returns the host and path of the remote called origin in a git configuration, else of the first one; "" for none. Files that it
// includes are not read.
func remoteIn(config string) string {
	first, section := "", ""
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		name, isRemote := strings.CutPrefix(section, `[remote "`)
		if !ok || !isRemote || !strings.EqualFold(strings.TrimSpace(key), "url") {
			continue
		}
		address := hostAndPath(strings.Trim(strings.TrimSpace(value), `"`))
		if address != "" && strings.HasPrefix(name, `origin"`) {
			return address
		}
		first = cmp.Or(first, address)
	}
	return first
}

// hostAndPath returns what a git address has in common with the others of its repository, whether by SSH or HTTPS: no user, no password, no
// port, no .git. It is "" for a path on this host.
func hostAndPath(address string) string {
	host, path := "", ""
	if strings.Contains(address, "://") {
		u, err := url.Parse(address)
		if err != nil || u.Scheme == "file" {
			return ""
		}
		host, path = u.Hostname(), u.Path
	} else { // user@host:path
		var ok bool
		host, path, ok = strings.Cut(address, ":")
		if !ok || strings.ContainsAny(host, `/\`) || len(host) < 2 { // a path, or a drive of Windows
			return ""
		}
		host = host[strings.LastIndexByte(host, '@')+1:]
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	if host == "" || path == "" {
		return ""
	}
	return strings.ToLower(host) + "/" + path
}

// Project identifies the project that a history of peaks belongs to.
type Project struct {
	Name string // base name of Root, for people
	Key  string // Name and a hash of Root: two projects with one name have two keys; safe as a file name
	Root string // absolute
}

// ProjectOf returns the project of a working directory: the git repository or work tree it is in, else the directory of a .plimsoll.toml at
// or above it, else itself. An empty dir means the working directory of the process. Symbolic links are followed, so that a project has one
// history by whatever path it is entered.
func ProjectOf(dir string) Project {
	dir = realPath(dir)
	root := dir
	if top := nearestAbove(dir, ".git"); top != "" {
		root = top
	} else if top := nearestAbove(dir, ProjectFile); top != "" {
		root = top
	}
	name := filepath.Base(root)
	if name == string(filepath.Separator) || name == "." {
		name = "root"
	}
	sum := sha256.Sum256([]byte(root))
	return Project{Name: name, Key: SafeName(name) + "-" + hex.EncodeToString(sum[:6]), Root: root}
}

// nearestAbove returns the nearest directory at or above dir that has an entry of a name, "" if there is none.
func nearestAbove(dir, name string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}
