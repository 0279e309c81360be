package kubernetes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/jobs/kubeapi"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/limit"
)

// cleanupTime bounds the removal of a job that could not be submitted whole.
const cleanupTime = 15 * time.Second

// Options say how jobs are made.
type Options struct {
	// Open opens the cluster of a context, "" for the one that new jobs go to.
	Open func(context string) (*kubeapi.Cluster, error)
	// Image is the one with the command in it, Plimsoll the one that plimsoll is copied from.
	Image, Plimsoll string
	// Queue is a LocalQueue of Kueue, Priority a PriorityClass; "" for none.
	Queue, Priority string
	// Secrets of the namespace become variables, each key one.
	Secrets []string
	// Work fills the work directory: "" (it is empty), "archive", "commit" or "claim:NAME".
	Work string
	// Hosts are those that a commit may come from.
	Hosts []string
}

// Engine is a [jobs.Engine].
type Engine struct {
	o Options

	pause func(context.Context, time.Duration) error

	mu   sync.Mutex
	open map[string]*kubeapi.Cluster
}

var _ jobs.Engine = (*Engine)(nil)

// New returns the engine. Nothing is asked of a cluster yet.
func New(o Options) *Engine {
	return &Engine{o: o, pause: kubeapi.Pause, open: map[string]*kubeapi.Cluster{}}
}

// Name is the word behind --on.
func (e *Engine) Name() string { return "kubernetes" }

func (e *Engine) cluster(context string) (*kubeapi.Cluster, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.open[context]; c != nil {
		return c, nil
	}
	c, err := e.o.Open(context)
	if err == nil {
		e.open[context] = c
	}
	return c, err
}

// place is where a job is; as text it is the job's ref. The context comes last, because only its name may have a slash.
type place struct{ namespace, name, uid, host, context string }

func (p place) String() string {
	return strings.Join([]string{p.namespace, p.name, p.uid, p.host, p.context}, "/")
}

// find returns the cluster of a job. A context that leads to another server now is an error: the job is no more lost than it was.
func (e *Engine) find(ref string) (*kubeapi.Cluster, place, error) {
	parts := strings.SplitN(ref, "/", 5)
	if len(parts) < 5 {
		return nil, place{}, fmt.Errorf("%q names no job of Kubernetes; plimsoll runs lists them", printable.Name(limit.Short(ref, 100)))
	}
	p := place{parts[0], parts[1], parts[2], parts[3], parts[4]}
	c, err := e.cluster(p.context)
	if err != nil {
		return nil, p, err
	}
	if c.Host() != p.host {
		return nil, p, fmt.Errorf("job %s is in the cluster at %s, and context %s leads to %s now; choose the kubeconfig of that cluster",
			p.name, printable.Name(p.host), printable.Name(p.context), c.Host())
	}
	return c, p, nil
}

var (
	validID   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$`)
	validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// check refuses what the cluster would refuse later, or would take for something else.
func (e *Engine) check(j jobs.Job) error {
	switch {
	case !validID.MatchString(j.ID):
		return fmt.Errorf("%q cannot be the name of a job of Kubernetes: small letters, digits and hyphens, 52 at most", printable.Name(limit.Short(j.ID, 80)))
	case len(j.Argv) == 0:
		return errors.New("there is no command; write it behind --")
	case e.o.Image == "":
		return errors.New("Kubernetes needs the image that has the command in it; name it with --image")
	case len(j.Slots) > 0 && e.o.Queue == "":
		return errors.New("Kubernetes counts no slots; name the queue of Kueue that bounds how many run, or leave the slots out")
	}
	size := 0
	for _, word := range j.Argv {
		size += len(word)
		if strings.ContainsRune(word, 0) || len(word) >= 128<<10 { // Linux's MAX_ARG_STRLEN
			return fmt.Errorf("a word of the command has %s, or a zero byte in it, and a process takes neither; put it into a file", limit.Bytes(len(word)).Human())
		}
	}
	if size > kubeapi.MaxBody/2 {
		return fmt.Errorf("the command has %s of words, and a Job holds %s; put the text into a file of the work directory", limit.Bytes(size).Human(), limit.Bytes(kubeapi.MaxBody/2).Human())
	}
	for _, v := range j.Env {
		if name, _, ok := strings.Cut(v, "="); !ok || !validName.MatchString(name) {
			return fmt.Errorf("%q cannot be the name of a variable there: letters, digits and underscores", printable.Name(limit.Short(name, 80)))
		}
	}
	return nil
}

// Submit makes the Job, and the Secret with what goes with it.
func (e *Engine) Submit(ctx context.Context, j jobs.Job) (string, error) {
	if err := e.check(j); err != nil {
		return "", err
	}
	c, err := e.cluster("")
	if err != nil {
		return "", err
	}
	if err := checkQueue(ctx, c, e.o.Queue); err != nil {
		return "", err
	}
	work, err := e.fill(ctx, j.Dir)
	if err != nil {
		return "", err
	}
	secret := secretOf(j, work)
	if n := secret.bytes(); n > maxSecret {
		return "", fmt.Errorf("the variables and the work directory make %s, and a Secret holds %s; use --work claim:NAME", limit.Bytes(n).Human(), limit.Bytes(maxSecret).Human())
	}
	// Without it nobody could tell, after a create without an answer, whether the Job of this name is ours.
	nonce := rand.Text()
	all := kubeapi.Path("batch/v1", c.Namespace, "jobs")
	var made job
	if err := c.Create(ctx, all, e.manifest(j, work, nonce), &made); err != nil {
		switch kubeapi.StatusOf(err) {
		case 0, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			err = errors.Join(err, e.undo(ctx, c, j.ID, nonce))
		}
		return "", err
	}
	at := place{c.Namespace, j.ID, made.Metadata.UID, c.Host(), c.Context}
	if len(secret) > 0 {
		if err := c.Create(ctx, kubeapi.Path("v1", c.Namespace, "secrets"), secret.manifest(j.ID, at.uid), nil); err != nil {
			return "", errors.Join(err, e.undo(ctx, c, j.ID, nonce))
		}
	}
	return at.String(), nil
}

// undo removes the job of a submission, if there is one; that of another submission stays.
func (e *Engine) undo(ctx context.Context, c *kubeapi.Cluster, name, nonce string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	var there job
	err := c.Get(ctx, kubeapi.Path("batch/v1", c.Namespace, "jobs", name), nil, &there)
	if err == nil && there.Metadata.Annotations[nonceKey] == nonce {
		err = e.remove(ctx, c, place{namespace: c.Namespace, name: name, uid: there.Metadata.UID})
	}
	if err != nil && kubeapi.StatusOf(err) != http.StatusNotFound {
		return fmt.Errorf("job %s may be left in namespace %s: kubectl delete job %s removes it (%w)", name, c.Namespace, name, err)
	}
	return nil
}

// Cancel deletes the Job, with its pods and its Secret.
func (e *Engine) Cancel(ctx context.Context, ref string) error {
	c, at, err := e.find(ref)
	if err != nil {
		return err
	}
	err = e.remove(ctx, c, at)
	if s := kubeapi.StatusOf(err); s == http.StatusNotFound || s == http.StatusConflict { // it has gone, or another has its name
		return nil
	}
	return err
}

func (e *Engine) remove(ctx context.Context, c *kubeapi.Cluster, at place) error {
	return c.Delete(ctx, kubeapi.Path("batch/v1", at.namespace, "jobs", at.name), object{
		"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background", "preconditions": object{"uid": at.uid},
	})
}
