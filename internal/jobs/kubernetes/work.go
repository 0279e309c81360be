package kubernetes

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs/kubeapi"
	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	gitTime = 20 * time.Second
	// maxNames bounds what git prints, maxUnpacked an archive before it is compressed, in bytes: beyond, it is no small directory.
	maxNames, maxUnpacked = 4 << 20, 64 << 20
)

// fetchScript checks out the commit $2 of the repository $1, in a folder of its own: git refuses one that it finds owned by another user, as a volume
// is.
const fetchScript = `git init -q src && cd src && git remote add origin "$1" && git fetch -q --depth 1 origin "$2" && git checkout -q --detach FETCH_HEAD`

// work fills the work directory. command does it in the init container, nil for none.
type work struct {
	dir     string
	command []string
	archive []byte
	claim   string
}

var validClaim = lazy.Regexp(`^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$`)

// prepareWork returns how the work directory of a job is filled, as Options.Work says: not at all, from a claim, from an archive of dir, or from
// the commit that is checked out in dir.
func (e *Engine) prepareWork(ctx context.Context, dir string) (work, error) {
	claim, isClaim := strings.CutPrefix(e.o.Work, "claim:")
	switch {
	case e.o.Work == "":
		return work{dir: workDir}, nil
	case isClaim && validClaim().MatchString(claim):
		return work{dir: workDir, claim: claim}, nil
	case e.o.Work == "archive":
		body, err := packDir(ctx, dir)
		return work{dir: workDir, archive: body, command: []string{"tar", "-xzf", archiveDir + "/" + archiveKey}}, err
	case e.o.Work == "commit":
		address, hash, err := fetchableCommit(ctx, dir, e.o.Hosts)
		return work{dir: workDir + "/src", command: []string{"sh", "-c", fetchScript, "sh", address, hash}}, err
	}
	return work{}, fmt.Errorf("--work %q is unknown; there are archive, commit and claim:NAME", printable.Name(limit.Short(e.o.Work, 80)))
}

// git runs git in dir, for at most gitTime, and returns its output without the last line break.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	text, _, err := kubeapi.Output(exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...), maxNames)
	if errors.Is(err, kubeapi.ErrTooMuch) {
		err = tooLargeError(dir, limit.Bytes(maxNames).Human()+" of names")
	}
	return strings.TrimRight(string(text), "\n"), err
}

// fetchableCommit returns the commit that is checked out in dir and the HTTPS address that it can be fetched from. It is an error if there are
// uncommitted changes, if no remote has the commit, or if origin is on a host that is not in hosts.
func fetchableCommit(ctx context.Context, dir string, hosts []string) (address, hash string, err error) {
	hash, err = git(ctx, dir, "rev-parse", "--verify", "HEAD")
	if err != nil {
		return "", "", fmt.Errorf("--work commit needs a git repository with a commit, and %s is none", printable.Name(dir))
	}
	if changed, err := git(ctx, dir, "status", "--porcelain"); err != nil || changed != "" {
		return "", "", errors.New("--work commit sends what is committed, and there are changes beside it; commit and push them, or use --work archive")
	}
	if there, err := git(ctx, dir, "branch", "--remotes", "--contains", hash); err != nil || there == "" {
		return "", "", fmt.Errorf("no remote is known to have commit %.12s; push it first", hash)
	}
	address, err = git(ctx, dir, "remote", "get-url", "origin")
	if err != nil {
		return "", "", errors.New("--work commit fetches from the remote origin, and the repository has none; git remote add origin URL")
	}
	if host, path, ok := strings.Cut(address, ":"); ok && !strings.HasPrefix(path, "//") { // as scp writes it
		address = "ssh://" + host + "/" + path
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !slices.Contains(hosts, u.Hostname()) {
		withoutPassword := address[strings.LastIndexByte(address, '@')+1:]
		return "", "", fmt.Errorf("a commit may come from listed hosts only (%s), and origin is %q; list its host in submit.hosts",
			cmp.Or(strings.Join(hosts, ", "), "none"), printable.Name(limit.Short(withoutPassword, 200)))
	}
	return (&url.URL{Scheme: "https", Host: u.Host, Path: u.Path}).String(), hash, nil
}

// tooLargeError returns the error of a directory that does not fit into a Secret. what says how large it is.
func tooLargeError(dir, what string) error {
	return fmt.Errorf("%s is too large to travel in a Secret (%s); use --work commit or claim:NAME", printable.Name(dir), what)
}

// boundedWriter writes at most left bytes more, and nothing once ctx has ended.
type boundedWriter struct {
	io.Writer

	ctx  context.Context
	left int
	full error
}

// Write fails with b.full when more is written than fits, and when the context has ended.
func (b *boundedWriter) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, b.full
	}
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.Writer.Write(p)
}

// packDir returns a compressed archive of a directory: of what git tracks or would add in a repository, else of everything. It fails as
// soon as the archive is too large.
func packDir(ctx context.Context, dir string) ([]byte, error) {
	root, err := statefile.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var out bytes.Buffer
	zip := gzip.NewWriter(&boundedWriter{&out, ctx, maxSecret, tooLargeError(dir, "more than "+limit.Bytes(maxSecret).Human()+" compressed")})
	to := tar.NewWriter(&boundedWriter{zip, ctx, maxUnpacked, tooLargeError(dir, "more than "+limit.Bytes(maxUnpacked).Human())})
	names, err := git(ctx, dir, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	switch {
	case err == nil:
		for name := range strings.SplitSeq(names, "\x00") {
			if name != "" && err == nil {
				err = addToArchive(to, root, filepath.FromSlash(name))
			}
		}
	case inRepository(dir):
		err = fmt.Errorf("what git would have in %s is not known, and else everything would travel: %w; git -C DIR status shows why", printable.Name(dir), err)
	case errors.As(err, new(*exec.ExitError)) || errors.Is(err, exec.ErrNotFound):
		err = fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
			if err == nil && name != "." {
				err = addToArchive(to, root, filepath.FromSlash(name))
			}
			return err
		})
	}
	if err == nil {
		err = cmp.Or(to.Close(), zip.Close())
	}
	return out.Bytes(), err
}

// inRepository reports whether dir or a directory above it has a .git, also where git itself refuses to work, as in one of another owner.
func inRepository(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

// addToArchive adds one file, directory or link to an archive, without its owner. Anything else, and a file that is gone, is left out; a file that
// shrinks meanwhile is an error.
func addToArchive(to *tar.Writer, root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) { // tracked by git, and removed
		return nil
	}
	if err != nil {
		return err
	}
	link := ""
	switch info.Mode().Type() {
	case fs.ModeSymlink:
		if link, err = root.Readlink(name); err != nil {
			return err
		}
	case 0, fs.ModeDir:
	default:
		return nil
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name, h.Uid, h.Gid, h.Uname, h.Gname = filepath.ToSlash(name), 0, 0, "", ""
	if err := to.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := statefile.OpenIn(root, name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := io.CopyN(to, f, h.Size)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s changed while it was packed (%d of %d bytes); try again", printable.Name(name), n, h.Size)
	}
	return err
}
