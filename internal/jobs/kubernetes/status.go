package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/jobs/kubeapi"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// maxAsked bounds the jobs that are asked for at once, because their names stand in an address; maxListed the entries of one list.
	maxAsked, maxListed = 50, "500"
	// maxDetail bounds the sentence of a status, in bytes.
	maxDetail = 1 << 10
	// notStarted is the exit status of a job whose command never ran, as of `plimsoll run`.
	notStarted = 125
	kueueGroup = "kueue.x-k8s.io"
)

// The objects of the API, with the fields that count.
type (
	metadata struct {
		Name, UID           string
		Labels, Annotations map[string]string
		CreationTimestamp   time.Time
		OwnerReferences     []struct{ Kind string }
	}
	// condition has the words of the API, also of a state or an event.
	condition struct{ Type, Status, Reason, Message string }
	// template is a pod's.
	template struct {
		Metadata metadata
		Spec     struct {
			Containers []struct {
				Name          string
				Command, Args []string
				Resources     object
			}
		}
	}
	// job is a Job, or what else makes pods. Each kind has its template elsewhere.
	job struct {
		Metadata metadata
		Spec     struct {
			Suspend               bool
			BackoffLimit          int
			Template, PodTemplate template
			JobTemplate           struct{ Spec struct{ Template template } }
		}
		Status struct {
			StartTime, CompletionTime time.Time
			Conditions                []condition
		}
	}
	pod struct {
		Metadata metadata
		Spec     struct{ NodeName string }
		Status   struct {
			condition

			Phase                                    string
			Conditions                               []condition
			InitContainerStatuses, ContainerStatuses []container
		}
	}
	container struct {
		Name  string
		State struct {
			Waiting    *condition
			Running    *struct{ StartedAt time.Time }
			Terminated *struct {
				condition

				ExitCode              int
				StartedAt, FinishedAt time.Time
			}
		}
	}
	event struct {
		condition

		LastTimestamp, EventTime time.Time
		Metadata                 metadata
		InvolvedObject           struct{ UID string }
	}
	list[T any] struct {
		Metadata struct{ ResourceVersion, Continue string }
		Items    []T
	}
)

// findCondition returns the first condition of a type with a status ("True", "False"); nil if there is none.
func findCondition(all []condition, kind, status string) *condition {
	if i := slices.IndexFunc(all, func(c condition) bool { return c.Type == kind && c.Status == status }); i >= 0 {
		return &all[i]
	}
	return nil
}

// agentContainer returns the state of the container that runs the command; the zero value if there is none yet.
func (p *pod) agentContainer() (found container) {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == agentName {
			found = c
		}
	}
	return found
}

// Status implements [jobs.Engine]. Jobs that are gone from the cluster have no entry in the answer. The error joins those of all clusters;
// the answers of the others are returned nevertheless.
func (e *Engine) Status(ctx context.Context, refs []jobs.Ref) (map[string]jobs.Status, error) {
	answers, places := map[string]jobs.Status{}, map[*kubeapi.Cluster][]jobs.Ref{}
	var failed error
	for _, ref := range refs {
		c, err := e.jobCluster(ref)
		if failed = errors.Join(failed, err); err == nil {
			places[c] = append(places[c], ref)
		}
	}
	for c, all := range places {
		for some := range slices.Chunk(all, maxAsked) {
			_, err := readStatus(ctx, c, some, answers)
			if failed = errors.Join(failed, err); err != nil {
				break
			}
		}
	}
	return answers, failed
}

// readStatus adds the status of some jobs of one namespace to answers, with as many calls as for one job, and returns their pods, the newest
// first. A job whose name was taken by another one gets no answer.
func readStatus(ctx context.Context, c *kubeapi.Cluster, refs []jobs.Ref, answers map[string]jobs.Status) (pods list[pod], err error) {
	var names []string
	for _, ref := range refs {
		names = append(names, ref.ID)
	}
	query := url.Values{"labelSelector": {labelKey + " in (" + strings.Join(names, ",") + ")"}, "limit": {maxListed}}
	var all list[job]
	if err := c.Get(ctx, c.Path("batch/v1", "jobs"), query, &all); err != nil {
		return pods, err
	}
	if err := c.Get(ctx, c.Path("v1", "pods"), query, &pods); err != nil {
		return pods, err
	}
	sorting.StableBy(pods.Items, func(a, b pod) int { return b.Metadata.CreationTimestamp.Compare(a.Metadata.CreationTimestamp) })
	more := &causes{Cluster: c}
	for _, ref := range refs {
		i := slices.IndexFunc(all.Items, func(j job) bool { return j.Metadata.Name == ref.ID && j.Metadata.UID == parsePlace(ref).uid })
		if i < 0 { // another one may have its name
			continue
		}
		var p *pod
		if n := slices.IndexFunc(pods.Items, func(p pod) bool { return p.Metadata.Labels[labelKey] == ref.ID }); n >= 0 {
			p = &pods.Items[n]
		}
		s, err := all.Items[i].status(ctx, p, more)
		if err != nil {
			return pods, err
		}
		s.Reason, s.Detail = printable.Name(limit.Short(s.Reason, 100)), limit.Short(printable.Name(strings.Join(strings.Fields(s.Detail), " ")), maxDetail)
		answers[ref.ID] = s
	}
	return pods, nil
}

// status returns the status of a Job, from its own conditions and its newest pod, which is nil if there is none. For a Job that waits it
// also asks the cluster why.
func (j *job) status(ctx context.Context, p *pod, more *causes) (s jobs.Status, err error) {
	s.Phase = jobs.Queued
	if p != nil {
		s = p.status()
	}
	var why condition
	switch complete, failed := findCondition(j.Status.Conditions, "Complete", "True"), findCondition(j.Status.Conditions, "Failed", "True"); {
	case complete != nil && s.Phase != jobs.Ended: // its pod has gone meanwhile
		s = jobs.Status{Phase: jobs.Ended, Reason: cmp.Or(complete.Reason, complete.Type), Started: j.Status.StartTime, Ended: j.Status.CompletionTime}
	case failed != nil && s.Phase != jobs.Ended:
		s.Phase, s.Reason, s.Detail, s.ExitCode = jobs.Ended, failed.Reason, failed.Message, notStarted
	case complete == nil && failed == nil && j.Spec.Suspend: // also where a pod of it is just being taken away
		s = jobs.Status{Phase: jobs.Queued}
		why, err = more.suspended(ctx, j.Metadata.UID)
	case s.Phase == jobs.Ended && s.ExitCode != 0 && j.Spec.BackoffLimit > 0 && failed == nil: // it is tried again
		s = jobs.Status{Phase: jobs.Queued, Reason: s.Reason, Detail: s.Detail}
	case p == nil && s.Phase == jobs.Queued:
		why, err = more.warning(ctx, j.Metadata.UID)
	case s.Reason == "ContainerCreating", s.Reason == "PodInitializing":
		why, err = more.warning(ctx, p.Metadata.UID) // a volume that is not there, say
	}
	s.Reason, s.Detail = cmp.Or(why.Reason, s.Reason), cmp.Or(why.Message, s.Detail)
	return s, err
}

// status returns the status that the pod alone shows: a report from its termination message, the reason why it does not start, or its exit
// code.
func (p *pod) status() jobs.Status {
	s := jobs.Status{Phase: jobs.Queued, Node: p.Spec.NodeName}
	why, agent, unplaced := p.Status.condition, p.agentContainer().State, findCondition(p.Status.Conditions, "PodScheduled", "False")
	switch {
	case agent.Terminated != nil:
		t := agent.Terminated
		s.Phase, s.ExitCode, s.Started, s.Ended = jobs.Ended, t.ExitCode, t.StartedAt, t.FinishedAt
		message, report := jobs.ParseMessage(t.Message)
		if s.Report = report; report != nil {
			s.Signal = report.Signal
		}
		if t.Reason == "OOMKilled" {
			s.Signal = cmp.Or(s.Signal, "SIGKILL")
		}
		if why.Reason == "" {
			why = condition{Reason: t.Reason, Message: message}
		}
	case p.Status.Phase == "Failed" || p.Status.Phase == "Succeeded":
		s.Phase, s.ExitCode = jobs.Ended, notStarted
		for _, c := range p.Status.InitContainerStatuses {
			if t := c.State.Terminated; t != nil && t.ExitCode != 0 && why.Reason == "" {
				why = condition{Reason: cmp.Or(t.Reason, "Error"), Message: fmt.Sprintf("the init container %s ended with status %d: %s", c.Name, t.ExitCode, t.Message)}
			}
		}
	case agent.Running != nil:
		s.Phase, s.Started = jobs.Running, agent.Running.StartedAt
	case unplaced != nil:
		why = *unplaced
	case p.Spec.NodeName != "":
		s.Phase = jobs.Starting
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			if c.State.Waiting != nil && (why.Reason == "" || why.Reason == "PodInitializing") {
				why = *c.State.Waiting
			}
		}
	}
	if disrupted := findCondition(p.Status.Conditions, "DisruptionTarget", "True"); disrupted != nil {
		why = *disrupted
	}
	s.Reason, s.Detail = why.Reason, why.Message
	return s
}

// causes finds why jobs of a namespace wait, where neither the Job nor its pod says so. Each list is asked for once, and kept by the UID of what it is
// about.
type causes struct {
	*kubeapi.Cluster

	warnings, workloads map[string]condition
}

// getOptional is Get for what only explains a status: if it may not be read, into stays as it is and there is no error.
func getOptional(ctx context.Context, c *kubeapi.Cluster, path string, query url.Values, into any) error {
	err := c.Get(ctx, path, query, into)
	if kubeapi.HTTPStatus(err) == http.StatusForbidden {
		return nil
	}
	return err
}

// warning returns the newest warning about an object; the zero value if there is none. The first call reads all warnings of the namespace.
func (in *causes) warning(ctx context.Context, uid string) (condition, error) {
	if in.warnings == nil {
		var all list[event]
		if err := getOptional(ctx, in.Cluster, in.Path("v1", "events"), url.Values{"fieldSelector": {"type=Warning"}, "limit": {maxListed}}, &all); err != nil {
			return condition{}, err
		}
		at := func(e event) time.Time { return cmp.Or(e.LastTimestamp, e.EventTime, e.Metadata.CreationTimestamp) }
		sorting.StableBy(all.Items, func(a, b event) int { return at(a).Compare(at(b)) })
		in.warnings = map[string]condition{}
		for _, e := range all.Items {
			in.warnings[e.InvolvedObject.UID] = e.condition
		}
	}
	return in.warnings[uid], nil
}

// suspended returns why a suspended Job waits: the condition of its workload in Kueue, else a general text. The first call reads all
// workloads of the namespace.
func (in *causes) suspended(ctx context.Context, uid string) (condition, error) {
	if in.workloads == nil {
		version, err := in.Version(ctx, kueueGroup)
		var all list[job]
		if err == nil && version != "" {
			err = getOptional(ctx, in.Cluster, in.Path(version, "workloads"), url.Values{"limit": {maxListed}}, &all)
		}
		if err != nil {
			return condition{}, err
		}
		in.workloads = map[string]condition{}
		for _, l := range all.Items {
			all := l.Status.Conditions
			if c := cmp.Or(findCondition(all, "Evicted", "True"), findCondition(all, "QuotaReserved", "False"), findCondition(all, "Admitted", "False")); c != nil {
				in.workloads[l.Metadata.Labels[kueueGroup+"/job-uid"]] = *c
			}
		}
	}
	return cmp.Or(in.workloads[uid], condition{Reason: "Suspended", Message: "whoever has suspended the Job has not resumed it"}), nil
}

// checkQueue returns an error if Kueue or this queue is not there: without them the Job would start at once. The empty queue is no error.
func checkQueue(ctx context.Context, c *kubeapi.Cluster, queue string) error {
	if queue == "" {
		return nil
	}
	version, err := c.Version(ctx, kueueGroup)
	if err == nil && version == "" {
		return fmt.Errorf("queue %q is one of Kueue, which the cluster of context %s does not have; leave the queue out", printable.Name(queue), printable.Name(c.Context))
	}
	if err == nil {
		err = getOptional(ctx, c, c.Path(version, "localqueues", queue), nil, nil)
	}
	if kubeapi.HTTPStatus(err) == http.StatusNotFound {
		return fmt.Errorf("there is no queue %q in namespace %s; kubectl get localqueues lists them", printable.Name(queue), c.Namespace)
	}
	return err
}
