package kubernetes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/jobs/kubeapi"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// cleanupTime bounds the removal of a job that could not be submitted whole.
	cleanupTime = 15 * time.Second
	// maxPlace bounds what is kept of where a job is, in bytes.
	maxPlace = 300
)

// Options say how jobs are made.
type Options struct {
	// Open opens the cluster of a context, "" for the one that new jobs go to.
	Open func(context string) (*kubeapi.Cluster, error)
	// Image is the one with the command in it, Plimsoll the one that plimsoll is copied from.
	Image, Plimsoll string
	// Priority is a PriorityClass, "" for none.
	Priority string
	// Secrets of the namespace become variables, each key one.
	Secrets []string
	// Work fills the work directory: "" (it is empty), "archive", "commit" or "claim:NAME".
	Work string
	// Hosts are those that a commit may come from.
	Hosts []string
	// Told is called with what the submitter should know.
	Told func(text string)
}

// Engine is a [jobs.Engine].
type Engine struct {
	o     Options
	pause func(context.Context, time.Duration) error

	mu   sync.Mutex
	open map[string]*kubeapi.Cluster
}

var _ jobs.Engine = (*Engine)(nil)

// New returns the engine. Nothing is asked of a cluster yet.
func New(o Options) *Engine {
	if o.Told == nil {
		o.Told = func(string) {}
	}
	return &Engine{o: o, pause: kubeapi.Pause, open: map[string]*kubeapi.Cluster{}}
}

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

// place tells where a job is; as text it is [jobs.Ref].At. The context comes last, because only its name may have a slash.
type place struct{ namespace, uid, host, context string }

func (p place) String() string {
	return strings.Join([]string{p.namespace, p.uid, p.host, p.context}, "/")
}

// find returns the cluster of a job. A context that leads to another server now is an error: the job is no more lost than it was.
func (e *Engine) find(ref jobs.Ref) (*kubeapi.Cluster, place, error) {
	parts := strings.SplitN(ref.At, "/", 4)
	if len(parts) < 4 {
		return nil, place{}, fmt.Errorf("what is kept of job %s names no place in a cluster", ref.ID)
	}
	p := place{parts[0], parts[1], parts[2], parts[3]}
	c, err := e.cluster(p.context)
	if err != nil {
		return nil, p, err
	}
	if c.Host() != p.host {
		return nil, p, fmt.Errorf("job %s is in the cluster at %s, and context %s leads to %s now; choose the kubeconfig of that cluster",
			ref.ID, printable.Name(p.host), printable.Name(p.context), c.Host())
	}
	return c, p, nil
}

// check refuses what the cluster would refuse later.
func (e *Engine) check(j *jobs.Job) error {
	switch {
	case e.o.Image == "":
		return errors.New("a job of Kubernetes needs the image that has the command in it; name it with --image, or in submit.image")
	case e.o.Plimsoll == "":
		return errors.New("a job of Kubernetes needs an image of Plimsoll to copy it from; name it in submit.plimsoll_image")
	}
	return j.Check()
}

// Plan implements [jobs.Engine].
func (e *Engine) Plan(j *jobs.Job) (string, error) {
	if err := e.check(j); err != nil {
		return "", err
	}
	c, err := e.cluster("")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Job %s in namespace %s of context %s, in %s: plimsoll %s", j.ID, c.Namespace, c.Context, e.o.Image, strings.Join(j.Run(), " ")), nil
}

// Submit makes the Job, and the Secret with what goes with it.
func (e *Engine) Submit(ctx context.Context, j *jobs.Job) (string, error) {
	if err := e.check(j); err != nil {
		return "", err
	}
	c, err := e.cluster("")
	if err != nil {
		return "", err
	}
	at := place{c.Namespace, strings.Repeat("u", 36), c.Host(), c.Context}
	if len(at.String()) > maxPlace {
		return "", fmt.Errorf("the name of context %s is too long; kubectl config rename-context makes it shorter", printable.Name(c.Context))
	}
	if err := checkQueue(ctx, c, j.Queue); err != nil {
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
	if len(j.Slots) > 0 && j.Queue == "" {
		e.o.Told("Kubernetes counts no slots: name a queue of Kueue that bounds how many run at once")
	}
	// Without it nobody could tell, after a create without an answer, whether the Job of this name is ours.
	nonce := rand.Text()
	var made job
	if err := c.Create(ctx, kubeapi.Path("batch/v1", c.Namespace, "jobs"), e.manifest(j, work, nonce), &made); err != nil {
		if kubeapi.Uncertain(err) {
			err = errors.Join(err, e.undo(ctx, c, j.ID, nonce))
		}
		return "", err
	}
	at.uid = made.Metadata.UID
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
		err = remove(ctx, c, c.Namespace, name, there.Metadata.UID)
	}
	if err != nil && kubeapi.StatusOf(err) != http.StatusNotFound {
		return fmt.Errorf("job %s may be left in namespace %s: kubectl delete job %s removes it (%w)", name, c.Namespace, name, err)
	}
	return nil
}

// Cancel deletes the Job, with its pods and its Secret.
func (e *Engine) Cancel(ctx context.Context, ref jobs.Ref) error {
	c, at, err := e.find(ref)
	if err != nil {
		return err
	}
	err = remove(ctx, c, at.namespace, ref.ID, at.uid)
	if s := kubeapi.StatusOf(err); s == http.StatusNotFound || s == http.StatusConflict { // it has gone, or another has its name
		return nil
	}
	return err
}

func remove(ctx context.Context, c *kubeapi.Cluster, namespace, name, uid string) error {
	return c.Delete(ctx, kubeapi.Path("batch/v1", namespace, "jobs", name), object{
		"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background", "preconditions": object{"uid": uid},
	})
}
