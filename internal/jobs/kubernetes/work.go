package kubernetes

import (
	"archive/tar"
	"bytes"
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

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	gitTime = 20 * time.Second
	// maxNames bounds what git prints, in bytes, and maxEntries the files of an archive: beyond, it is no small directory.
	maxNames, maxEntries = 4 << 20, 20_000
	// maxUnpacked bounds an archive before it is compressed, in bytes.
	maxUnpacked = 64 << 20
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

var (
	validClaim = lazy.Regexp(`^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$`)
	fullHash   = lazy.Regexp(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	scpLike    = lazy.Regexp(`^[^/@:]+@([^/:]+):(.+)$`)
)

// fill prepares what Options.Work asks for. dir is the directory that it is about.
func (e *Engine) fill(ctx context.Context, dir string) (work, error) {
	claim, isClaim := strings.CutPrefix(e.o.Work, "claim:")
	switch {
	case e.o.Work == "":
		return work{dir: workDir}, nil
	case isClaim && validClaim().MatchString(claim):
		return work{dir: workDir, claim: claim}, nil
	case e.o.Work == "archive":
		body, err := pack(ctx, dir)
		return work{dir: workDir, archive: body, command: []string{"tar", "-xzf", "/plimsoll-archive/" + archiveKey}}, err
	case e.o.Work == "commit":
		address, hash, err := commitOf(ctx, dir, e.o.Hosts)
		return work{dir: workDir + "/src", command: []string{"sh", "-c", fetchScript, "sh", address, hash}}, err
	}
	return work{}, fmt.Errorf("--work %q is unknown; there are archive, commit and claim:NAME", printable.Name(limit.Short(e.o.Work, 80)))
}

// git asks the repository that dir is in.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	cmd.WaitDelay = time.Second
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(pipe, maxNames+1))
	if len(text) > maxNames {
		cancel()
		_ = cmd.Wait()
		return "", tooLarge(dir, limit.Bytes(maxNames).Human()+" of names")
	}
	return strings.TrimRight(string(text), "\n"), errors.Join(err, cmd.Wait())
}

// commitOf returns the commit that is checked out in dir, and where it can be fetched.
func commitOf(ctx context.Context, dir string, hosts []string) (address, hash string, err error) {
	hash, err = git(ctx, dir, "rev-parse", "--verify", "HEAD")
	if err != nil || !fullHash().MatchString(hash) {
		return "", "", fmt.Errorf("--work commit needs a git repository with a commit, and %s is none", printable.Name(dir))
	}
	changed, err := git(ctx, dir, "status", "--porcelain")
	if err != nil || changed != "" {
		return "", "", errors.New("--work commit sends what is committed, and there are changes beside it; commit and push them, or use --work archive")
	}
	if there, err := git(ctx, dir, "branch", "--remotes", "--contains", hash); err != nil || there == "" {
		return "", "", fmt.Errorf("no remote is known to have commit %.12s; push it first", hash)
	}
	address, err = git(ctx, dir, "remote", "get-url", "origin")
	if err != nil {
		return "", "", errors.New("--work commit fetches from the remote origin, and the repository has none; git remote add origin URL")
	}
	if m := scpLike().FindStringSubmatch(address); m != nil {
		address = "https://" + m[1] + "/" + m[2]
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !slices.Contains(hosts, u.Hostname()) {
		return "", "", fmt.Errorf("a commit may come from %s only, and origin is %q; list its host in submit.hosts", orNone(hosts), printable.Name(limit.Short(hidePassword(address), 200)))
	}
	return (&url.URL{Scheme: "https", Host: u.Host, Path: u.Path}).String(), hash, nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "listed hosts"
	}
	return strings.Join(names, ", ")
}

func hidePassword(address string) string {
	if i := strings.LastIndexByte(address, '@'); i >= 0 {
		return address[i+1:]
	}
	return address
}

func tooLarge(dir, what string) error {
	return fmt.Errorf("%s is too large to travel in a Secret (%s); use --work commit or claim:NAME", printable.Name(dir), what)
}

// pack makes an archive of a directory: what git tracks or would add where it is a repository, else everything. It stops at the first bound.
func pack(ctx context.Context, dir string) ([]byte, error) {
	root, err := statefile.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	p := packing{dir: dir, root: root, out: &out, tar: tar.NewWriter(zip)}
	names, err := git(ctx, dir, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	switch {
	case err == nil:
		for name := range strings.SplitSeq(strings.TrimRight(names, "\x00"), "\x00") {
			if name != "" && err == nil {
				err = p.add(ctx, filepath.FromSlash(name))
			}
		}
	case errors.As(err, new(*exec.ExitError)) || errors.Is(err, exec.ErrNotFound):
		err = fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
			if err == nil && name != "." {
				err = p.add(ctx, filepath.FromSlash(name))
			}
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(p.tar.Close(), zip.Close()); err != nil {
		return nil, err
	}
	if out.Len() > maxSecret {
		return nil, tooLarge(dir, "more than "+limit.Bytes(maxSecret).Human()+" compressed")
	}
	return out.Bytes(), nil
}

type packing struct {
	dir     string
	root    *os.Root
	out     *bytes.Buffer
	tar     *tar.Writer
	entries int
	bytes   int64
}

// add adds one entry. What is neither a file, a directory nor a link stays behind.
func (p *packing) add(ctx context.Context, name string) error {
	info, err := p.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) { // tracked by git, and removed
		return nil
	}
	if err != nil {
		return err
	}
	p.entries++
	p.bytes += info.Size()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case p.entries > maxEntries:
		return tooLarge(p.dir, "more than "+limit.Count(maxEntries, "file"))
	case p.bytes > maxUnpacked:
		return tooLarge(p.dir, "more than "+limit.Bytes(maxUnpacked).Human())
	case p.out.Len() > maxSecret:
		return tooLarge(p.dir, "more than "+limit.Bytes(maxSecret).Human()+" compressed")
	}
	link := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if link, err = p.root.Readlink(name); err != nil {
			return err
		}
	} else if !info.Mode().IsRegular() && !info.IsDir() {
		return nil
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name, h.Uid, h.Gid, h.Uname, h.Gname = filepath.ToSlash(name), 0, 0, "", ""
	if !info.Mode().IsRegular() {
		return p.tar.WriteHeader(h)
	}
	f, err := statefile.OpenIn(p.root, name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := p.tar.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.CopyN(p.tar, f, h.Size)
	if err != nil {
		return fmt.Errorf("%s changed while it was packed (%d of %d bytes); try again", printable.Name(name), n, h.Size)
	}
	return nil
}
