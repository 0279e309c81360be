package kubernetes

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// A job arrives as it was meant: its words as they are, what it needs, and its variables where who may read pods does not see them.
func TestSubmit(t *testing.T) {
	a := &api{kueue: true}
	o := images()
	o.Priority, o.Secrets, o.Work = "low", []string{"providers"}, "claim:repo"
	e := start(t, a, o)
	a.put("localqueues", object{"metadata": map[string]any{"name": "team"}})
	j := newJob("sh", "-c", "echo $(HOME) $$ $x; a 'b'\n")
	j.Env, j.Queue, j.Retries = []string{"KEY=hunter2=", "EMPTY="}, "team", 2
	at, err := e.Submit(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(at, "agents/uid-of-claude-1/127.0.0.1:") || !strings.HasSuffix(at, "/lab/one") {
		t.Errorf("it is at %q", at)
	}
	made := a.all("jobs")[0]
	for want, path := range map[string][]any{
		`"claude-1"`: {"metadata", "name"}, `"team"`: {"metadata", "labels", "kueue.x-k8s.io/queue-name"},
		`2`: {"spec", "backoffLimit"}, `86400`: {"spec", "ttlSecondsAfterFinished"}, `"Failed"`: {"spec", "podReplacementPolicy"},
		`"Never"`: {"spec", "template", "spec", "restartPolicy"}, `"low"`: {"spec", "template", "spec", "priorityClassName"},
		`4200`:                                 {"spec", "template", "spec", "activeDeadlineSeconds"},
		`{"cpu":"1500m","memory":"900Mi"}`:     {"spec", "template", "spec", "containers", 0, "resources", "requests"},
		`{"cpu":"1500m","memory":"2115Mi"}`:    {"spec", "template", "spec", "containers", 0, "resources", "limits"},
		`[{"secretRef":{"name":"providers"}}]`: {"spec", "template", "spec", "containers", 0, "envFrom"},
		`"repo"`:                               {"spec", "template", "spec", "volumes", 3, "persistentVolumeClaim", "claimName"},
		`["/plimsoll-bin/plimsoll","run","--memory-max=2147483648","--wait","--report=/dev/termination-log","--time-max=1h0m0s","--","sh","-c","echo $$(HOME) $$$$ $$x; a 'b'\n"]`: {"spec", "template", "spec", "containers", 0, "command"},
	} {
		if got := text(as(t, made, path...)); got != want {
			t.Errorf("%v is %s, want %s", path, got, want)
		}
	}
	if all := text(made); strings.Contains(all, "hunter2") || !strings.Contains(all, `{"name":"KEY","valueFrom":{"secretKeyRef":{"key":"KEY","name":"claude-1"}}}`) {
		t.Errorf("the variables in %s", all)
	}
	secret := a.all("secrets")[0]
	if got := text(as(t, secret, "data")); got != `{"EMPTY":"","KEY":"`+base64.StdEncoding.EncodeToString([]byte("hunter2="))+`"}` {
		t.Errorf("the Secret holds %s", got)
	}
	if got := text(as(t, secret, "metadata", "ownerReferences", 0)); got != `{"apiVersion":"batch/v1","kind":"Job","name":"claude-1","uid":"uid-of-claude-1"}` {
		t.Errorf("the Secret belongs to %s", got)
	}
	// The same once more is refused, and the first one stays.
	if _, err := e.Submit(t.Context(), j); err == nil || !strings.Contains(err.Error(), "a job is submitted once") || len(a.all("jobs")) != 1 || len(a.all("secrets")) != 1 {
		t.Errorf("a second one: %v, %d jobs", err, len(a.all("jobs")))
	}
	words, err := e.Plan(j)
	if err != nil || !strings.HasPrefix(words, "Job claude-1 in namespace agents of context lab/one, in agent:1: plimsoll run --memory-max") {
		t.Errorf("%q, %v", words, err)
	}
}

// Whatever the API answers, of a submission that fails nothing is left, and nothing of another's is taken away.
func TestFailedSubmissionLeavesNothing(t *testing.T) {
	create := func(r *http.Request, plural string) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/"+plural)
	}
	for name, before := range map[string]func(*api) func(http.ResponseWriter, *http.Request) bool{
		"no right to make Secrets": func(*api) func(http.ResponseWriter, *http.Request) bool {
			return func(w http.ResponseWriter, r *http.Request) bool {
				if create(r, "secrets") {
					refuse(w, 403, `secrets is forbidden: User "x" cannot create resource "secrets"`)
				}
				return create(r, "secrets")
			}
		},
		"made, and an error": func(a *api) func(http.ResponseWriter, *http.Request) bool {
			return func(w http.ResponseWriter, r *http.Request) bool {
				if create(r, "jobs") {
					a.serve(&nothing{}, r)
					refuse(w, 504, "timeout")
				}
				return create(r, "jobs")
			}
		},
		"made, and no answer": func(a *api) func(http.ResponseWriter, *http.Request) bool {
			return func(w http.ResponseWriter, r *http.Request) bool {
				if create(r, "jobs") {
					a.serve(&nothing{}, r)
					panic(http.ErrAbortHandler)
				}
				return false
			}
		},
		"made, and garbage": func(a *api) func(http.ResponseWriter, *http.Request) bool {
			return func(w http.ResponseWriter, r *http.Request) bool {
				if create(r, "jobs") {
					a.serve(&nothing{}, r)
					_, _ = io.WriteString(w, "<html>")
				}
				return create(r, "jobs")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := &api{}
			e := start(t, a, images())
			a.before = before(a)
			j := newJob("true")
			j.Env = []string{"A=b"}
			if at, err := e.Submit(t.Context(), j); err == nil || at != "" {
				t.Errorf("%q, %v", at, err)
			} else if strings.Contains(err.Error(), "may be left") {
				t.Errorf("%v", err)
			}
			if left := append(a.all("jobs"), a.all("secrets")...); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
	a := &api{}
	e := start(t, a, images())
	a.put("jobs", object{"metadata": map[string]any{"name": "claude-1", "uid": "theirs"}})
	a.before = func(w http.ResponseWriter, r *http.Request) bool {
		if create(r, "jobs") {
			refuse(w, 500, "a fault")
		}
		return create(r, "jobs")
	}
	if _, err := e.Submit(t.Context(), newJob("true")); err == nil || len(a.all("jobs")) != 1 {
		t.Errorf("%v, %v", err, a.all("jobs"))
	}
}

type nothing struct{ h http.Header }

func (n *nothing) Header() http.Header {
	if n.h == nil {
		n.h = http.Header{}
	}
	return n.h
}
func (*nothing) Write(p []byte) (int, error) { return len(p), nil }
func (*nothing) WriteHeader(int)             {}

// What cannot work is refused in one sentence before anything is made.
func TestRefusedSubmissions(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge")
	if err := os.Mkdir(huge, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} { // with nothing in them
		f, err := os.Create(filepath.Join(huge, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(50 << 30); err != nil {
			t.Skip(err)
		}
		_ = f.Close()
	}
	for _, c := range []struct {
		change func(*Options, *jobs.Job)
		kueue  bool
		want   string
	}{
		{func(o *Options, _ *jobs.Job) { o.Image = "" }, false, "name it with --image"},
		{func(o *Options, _ *jobs.Job) { o.Plimsoll = "" }, false, "submit.plimsoll_image"},
		{func(_ *Options, j *jobs.Job) { j.ID = "a;rm -rf $HOME" }, false, "small letters"},
		{func(_ *Options, j *jobs.Job) { j.Argv = []string{"echo", strings.Repeat("x", 10<<20)} }, false, "put it into a file"},
		{func(_ *Options, j *jobs.Job) { j.Queue = "team" }, false, "Kueue, which the cluster of context lab/one does not have"},
		{func(_ *Options, j *jobs.Job) { j.Queue = "tema" }, true, `no queue "tema" in namespace agents`},
		{func(o *Options, j *jobs.Job) { o.Work, j.Dir = "archive", huge }, false, "too large to travel"},
		{func(o *Options, j *jobs.Job) { o.Work, j.Dir = "archive", filepath.Join(dir, "none") }, false, "none"},
		{func(o *Options, j *jobs.Job) { o.Work, j.Dir = "commit", huge }, false, "needs a git repository"},
		{func(o *Options, _ *jobs.Job) { o.Work = "claim:../x" }, false, "there are archive, commit and claim:NAME"},
		{func(_ *Options, j *jobs.Job) {
			j.Env = []string{"A=" + strings.Repeat("x", 100<<10)}
			j.Argv = make([]string, 0)
			j.Argv = append(j.Argv, "x")
		}, false, ""},
	} {
		a := &api{kueue: c.kueue}
		o := images()
		j := newJob("true")
		c.change(&o, j)
		e := start(t, a, o)
		a.put("localqueues", object{"metadata": map[string]any{"name": "team"}})
		_, err := e.Submit(t.Context(), j)
		if c.want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 1000 || len(a.all("jobs"))+len(a.all("secrets")) > 0 {
			t.Errorf("%.600v; want %q", err, c.want)
		}
	}
}

func TestSlotsAreTold(t *testing.T) {
	told := ""
	o := images()
	o.Told = func(text string) { told += text }
	e := start(t, &api{}, o)
	j := newJob("true")
	j.Slots = map[string]int{"claude": 1}
	if _, err := e.Submit(t.Context(), j); err != nil || !strings.Contains(told, "counts no slots") {
		t.Errorf("%v, told %q", err, told)
	}
}

func run(t *testing.T, dir string, argv ...string) string {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

// An archive holds what git would have in it, and unpacks to the same with the command of the pod.
func TestArchive(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a.txt": "one", "sub/run.sh": "#!/bin/sh\n", "new file": "x", "ignored.log": "hunter2", ".gitignore": "*.log\n", "gone": "x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a.txt", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	run(t, dir, "git", "init", "-q")
	run(t, dir, "git", "add", "a.txt", "gone")
	if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	a := &api{}
	o := images()
	o.Work = "archive"
	e := start(t, a, o)
	j := newJob("true")
	j.Dir = dir
	if _, err := e.Submit(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	body, err := base64.StdEncoding.DecodeString(as(t, a.all("secrets")[0], "data", archiveKey).(string))
	if err != nil {
		t.Fatal(err)
	}
	init := as(t, a.all("jobs")[0], "spec", "template", "spec", "initContainers", 1)
	if text(as(t, init, "command")) != `["tar","-xzf","/plimsoll-archive/archive.tar.gz"]` || as(t, init, "workingDir") != workDir {
		t.Errorf("it is unpacked by %s", text(init))
	}
	into := t.TempDir()
	testfile.Write(t, filepath.Join(into, archiveKey), body)
	run(t, into, "tar", "-xzf", archiveKey)
	for name, want := range map[string]string{"a.txt": "one", "sub/run.sh": "#!/bin/sh\n", "new file": "x", "link": "one"} {
		if got, err := os.ReadFile(filepath.Join(into, name)); string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"ignored.log", "gone", ".git"} {
		if _, err := os.Lstat(filepath.Join(into, name)); err == nil {
			t.Errorf("%s went with it", name)
		}
	}
}

// Without git everything goes, but nothing that is no file, and no link leads out of what is packed.
func TestArchiveWithoutGit(t *testing.T) {
	dir := t.TempDir()
	testfile.Write(t, filepath.Join(dir, "a"), "x")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "out")); err != nil {
		t.Skip(err)
	}
	fifo(t, filepath.Join(dir, "pipe"))
	body, err := packDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]byte{}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		found[h.Name] = h.Typeflag
	}
	if len(found) != 2 || found["a"] != tar.TypeReg || found["out"] != tar.TypeSymlink {
		t.Errorf("%v", found)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := packDir(ctx, dir); err == nil {
		t.Error("it goes on after its end")
	}
}

// What git would leave out does not travel because git cannot say what that is.
func TestArchiveOfARepositoryThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "git", "init", "-q")
	inside := filepath.Join(dir, "inside")
	for _, err := range []error{
		os.Mkdir(inside, 0o700), os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(".env\n"), 0o600), os.WriteFile(filepath.Join(inside, ".env"), []byte("KEY=secret"), 0o600),
		os.WriteFile(filepath.Join(dir, ".git", "index"), []byte("damaged"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{dir, inside} {
		if _, err := packDir(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "else everything would travel") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestCommit(t *testing.T) {
	dir, origin := t.TempDir(), t.TempDir()
	run(t, origin, "git", "init", "-q", "--bare")
	run(t, dir, "git", "init", "-q")
	run(t, dir, "git", "commit", "-q", "--allow-empty", "-m", "one")
	refused := func(want string) {
		t.Helper()
		if _, _, err := fetchableCommit(t.Context(), dir, []string{"git.example.com"}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v; want %q", err, want)
		}
	}
	refused("push it first")
	run(t, dir, "git", "remote", "add", "origin", origin)
	run(t, dir, "git", "push", "-q", "origin", "HEAD:main")
	refused("list its host in submit.hosts")
	run(t, dir, "git", "remote", "set-url", "origin", "https://me:hunter2@elsewhere.example/x")
	refused("list its host")
	for remote, want := range map[string]string{
		"git@git.example.com:team/repo.git":               "https://git.example.com/team/repo.git",
		"https://me:hunter2@git.example.com/team/repo":    "https://git.example.com/team/repo",
		"ssh://git@git.example.com/team/repo?x=y#z":       "https://git.example.com/team/repo",
		"https://git.example.com/te am/'; rm -rf /; repo": "https://git.example.com/te%20am/%27;%20rm%20-rf%20/;%20repo",
	} {
		run(t, dir, "git", "remote", "set-url", "origin", remote)
		address, hash, err := fetchableCommit(t.Context(), dir, []string{"git.example.com"})
		if err != nil || address != want || len(hash) != 40 {
			t.Errorf("%s is %q at %q, %v", remote, address, hash, err)
		}
	}
	testfile.Write(t, filepath.Join(dir, "change"), "")
	refused("commit and push them")

	// What the pod does with it, with a real git.
	w, err := (&Engine{o: Options{Work: "commit", Hosts: []string{"git.example.com"}}}).prepareWork(t.Context(), dir)
	if err == nil {
		t.Errorf("a changed directory is taken: %+v", w)
	}
	hash := run(t, dir, "git", "rev-parse", "HEAD")
	into := t.TempDir()
	run(t, origin, "git", "config", "uploadpack.allowAnySHA1InWant", "true")
	run(t, into, "sh", "-c", fetchScript, "sh", "file://"+origin, hash)
	if got := run(t, filepath.Join(into, "src"), "git", "rev-parse", "HEAD"); got != hash {
		t.Errorf("%s is checked out", got)
	}
}

func TestCancel(t *testing.T) {
	a := &api{}
	e := start(t, a, images())
	at, err := e.Submit(t.Context(), newJob("true"))
	if err != nil {
		t.Fatal(err)
	}
	ref := jobs.Ref{ID: "claude-1", At: at}
	other := ref
	other.At = strings.Replace(at, "uid-of-claude-1", "of-an-older-one", 1)
	if err := e.Cancel(t.Context(), other); err != nil || len(a.all("jobs")) != 1 {
		t.Errorf("a job with the name of an older one: %v, %d left", err, len(a.all("jobs")))
	}
	for range 2 { // the second time there is none
		if err := e.Cancel(t.Context(), ref); err != nil || len(a.all("jobs")) != 0 {
			t.Errorf("%v, %d left", err, len(a.all("jobs")))
		}
	}
}

// A context of the same name that leads to another cluster is told, and asked nothing.
func TestTwoClustersOfOneName(t *testing.T) {
	a := &api{}
	e := start(t, a, images())
	ref := jobs.Ref{ID: "claude-1", At: "agents/uid/10.0.0.1:6443/lab/one"}
	_, status := e.Status(t.Context(), []jobs.Ref{ref})
	for _, err := range []error{status, e.Cancel(t.Context(), ref), e.Output(t.Context(), ref, io.Discard, io.Discard)} {
		if err == nil || !strings.Contains(err.Error(), "is in the cluster at 10.0.0.1:6443, and context lab/one leads to 127.0.0.1:") {
			t.Errorf("%v", err)
		}
	}
	if len(a.asked) > 0 {
		t.Errorf("asked %v", a.asked)
	}
	for _, at := range []string{"", "x", "a/b/c"} {
		if err := e.Cancel(t.Context(), jobs.Ref{ID: "x", At: at}); err == nil {
			t.Errorf("%q is a place", at)
		}
	}
}
