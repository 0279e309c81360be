// Package kubernetes hands jobs to a cluster: each is a Job (batch/v1) whose pod runs `plimsoll run -- COMMAND`.
//
//	engine := kubernetes.New(kubernetes.Options{Open: open, Image: "registry.example.com/agent:1", Plimsoll: "ghcr.io/plimsoll/plimsoll:0.1.0"})
//	ref, err := engine.Submit(ctx, job)
//
// The pod passes the restricted profile of Pod Security. An init container copies plimsoll into it, another one fills the work directory. The
// job's name is its ID, so that the API refuses a second one. Variables travel in a Secret that the Job owns: who deletes the Job has deleted all.
//
// What a job is at comes from the Job, its pod, Kueue's Workload and events, in their own words.
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
)

const (
	// cleanupTime bounds the removal of a job that could not be submitted whole.
	cleanupTime = 15 * time.Second
	// maxPlace bounds what is kept of where a job is, in bytes.
	maxPlace = 300
)

// Options say how jobs are made.
type Options struct {
	// Open opens a namespace of a cluster, "" for the context and the namespace that new jobs go to.
	Open func(context, namespace string) (*kubeapi.Cluster, error)
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
	open map[[2]string]*kubeapi.Cluster
}

var _ jobs.Engine = (*Engine)(nil)

// New returns the engine. Nothing is asked of a cluster yet.
func New(o Options) *Engine {
	return &Engine{o: o, pause: kubeapi.Sleep, open: map[[2]string]*kubeapi.Cluster{}}
}

// cluster returns the client for a context and a namespace, and opens it on first use.
func (e *Engine) cluster(context, namespace string) (c *kubeapi.Cluster, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := [2]string{context, namespace}
	if e.open[key] == nil {
		if c, err = e.o.Open(context, namespace); err != nil {
			return nil, err
		}
		e.open[key] = c
	}
	return e.open[key], nil
}

// place tells where a job is; as text it is [jobs.Ref].At. The context comes last, because only its name may have a slash.
type place struct{ namespace, uid, host, context string }

// String returns the place as parsePlace reads it.
func (p place) String() string {
	return strings.Join([]string{p.namespace, p.uid, p.host, p.context}, "/")
}

// parsePlace returns the place of a job, the zero value where its text names none.
func parsePlace(ref jobs.Ref) (p place) {
	if parts := strings.SplitN(ref.At, "/", 4); len(parts) == 4 {
		p = place{parts[0], parts[1], parts[2], parts[3]}
	}
	return p
}

// jobCluster returns the client for the namespace that a job is in. It is an error if the context now leads to another server: there the job would
// seem to be lost.
func (e *Engine) jobCluster(ref jobs.Ref) (*kubeapi.Cluster, error) {
	at := parsePlace(ref)
	if at.namespace == "" {
		return nil, fmt.Errorf("what is kept of job %s names no place in a cluster", ref.ID)
	}
	c, err := e.cluster(at.context, at.namespace)
	if err == nil && c.Host() != at.host {
		return nil, fmt.Errorf("job %s is in the cluster at %s, and context %s leads to %s now; choose the kubeconfig of that cluster",
			ref.ID, printable.Name(at.host), printable.Name(at.context), c.Host())
	}
	return c, err
}

// checkJob returns the cluster that a job goes to. It is an error if an image is missing, or if the job itself is invalid.
func (e *Engine) checkJob(j *jobs.Job) (*kubeapi.Cluster, error) {
	switch {
	case e.o.Image == "":
		return nil, errors.New("a job of Kubernetes needs the image that has the command in it; name it with --image, or in submit.image")
	case e.o.Plimsoll == "":
		return nil, errors.New("a job of Kubernetes needs an image of Plimsoll to copy it from; name it in submit.plimsoll_image")
	}
	if err := j.Check(); err != nil {
		return nil, err
	}
	return e.cluster("", "")
}

// Plan implements [jobs.Engine].
func (e *Engine) Plan(j *jobs.Job) (string, error) {
	c, err := e.checkJob(j)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Job %s in namespace %s of context %s, in %s: plimsoll %s", j.ID, c.Namespace, c.Context, e.o.Image, strings.Join(j.RunArguments(), " ")), nil
}

// Submit creates the Job and a Secret with its variables and its work directory. If that fails, or its outcome is not known, it removes
// what was created.
func (e *Engine) Submit(ctx context.Context, j *jobs.Job) (string, error) {
	c, err := e.checkJob(j)
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
	w, err := e.prepareWork(ctx, j.Dir)
	if err != nil {
		return "", err
	}
	secret, err := secretValues(j, w)
	if err != nil {
		return "", err
	}
	if len(j.Slots) > 0 && j.Queue == "" {
		e.o.Told("Kubernetes counts no slots: name a queue of Kueue that bounds how many run at once")
	}
	// Without it nobody could tell, after a create without an answer, whether the Job of this name is ours.
	nonce := rand.Text()
	var made job
	err = c.Create(ctx, c.Path("batch/v1", "jobs"), e.manifest(j, w, nonce), &made)
	at.uid = made.Metadata.UID
	if err != nil && !kubeapi.MayHaveActed(err) {
		return "", err
	}
	if err == nil && len(secret) > 0 {
		err = c.Create(ctx, c.Path("v1", "secrets"), secretManifest(secret, j.ID, at.uid), nil)
	}
	if err != nil {
		return "", errors.Join(err, removeSubmitted(ctx, c, j.ID, nonce))
	}
	return at.String(), nil
}

// removeSubmitted removes the Job that this submission has created, if there is one; a Job of the same name with another nonce stays. It has time of
// its own, also if ctx has ended.
func removeSubmitted(ctx context.Context, c *kubeapi.Cluster, name, nonce string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	var there job
	err := c.Get(ctx, c.Path("batch/v1", "jobs", name), nil, &there)
	if err == nil && there.Metadata.Annotations[nonceKey] == nonce {
		err = deleteJob(ctx, c, name, there.Metadata.UID)
	}
	if err != nil && kubeapi.HTTPStatus(err) != http.StatusNotFound {
		return fmt.Errorf("job %s may be left in namespace %s: kubectl delete job %s removes it (%w)", name, c.Namespace, name, err)
	}
	return nil
}

// Cancel deletes the Job, with its pods and its Secret. If the Job is gone already it does nothing.
func (e *Engine) Cancel(ctx context.Context, ref jobs.Ref) error {
	c, err := e.jobCluster(ref)
	if err != nil {
		return err
	}
	err = deleteJob(ctx, c, ref.ID, parsePlace(ref).uid)
	if s := kubeapi.HTTPStatus(err); s == http.StatusNotFound || s == http.StatusConflict { // it has gone, or another has its name
		return nil
	}
	return err
}

// deleteJob deletes a Job with its pods. A Job of the same name with another uid stays, and is an error.
func deleteJob(ctx context.Context, c *kubeapi.Cluster, name, uid string) error {
	return c.Delete(ctx, c.Path("batch/v1", "jobs", name), object{
		"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background", "preconditions": object{"uid": uid},
	})
}
