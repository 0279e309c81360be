package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// maxDetail bounds the sentence of a status, in bytes.
const maxDetail = 1 << 10

// The objects of the API, with the fields that count.
type (
	metadata struct {
		Name, UID, ResourceVersion string
		Labels, Annotations        map[string]string
		CreationTimestamp          time.Time
	}
	condition struct{ Type, Status, Reason, Message string }
	job       struct {
		Metadata metadata
		Spec     struct {
			Suspend      bool
			BackoffLimit int
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
			Phase, Reason, Message                   string
			Conditions                               []condition
			InitContainerStatuses, ContainerStatuses []container
		}
	}
	container struct {
		Name  string
		State struct {
			Waiting    *struct{ Reason, Message string }
			Running    *struct{ StartedAt time.Time }
			Terminated *terminated
		}
	}
	terminated struct {
		ExitCode, Signal      int
		Reason, Message       string
		StartedAt, FinishedAt time.Time
	}
	podList struct {
		Metadata metadata
		Items    []pod
	}
)

func find(all []condition, kind, status string) *condition {
	for i := range all {
		if all[i].Type == kind && all[i].Status == status {
			return &all[i]
		}
	}
	return nil
}

// agent is the state of the container with the command; the zero value before there is one.
func (p *pod) agent() container {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == agentName {
			return c
		}
	}
	return container{}
}

// maxAsked bounds the jobs that are asked for at once, because their names stand in an address; maxListed the entries of one list.
const maxAsked, maxListed = 50, "500"

// Status implements [jobs.Engine].
func (e *Engine) Status(ctx context.Context, refs []jobs.Ref) (map[string]jobs.Status, error) {
	answers := map[string]jobs.Status{}
	byPlace := map[place][]jobs.Ref{}
	uids := map[string]string{}
	var failed error
	for _, ref := range refs {
		_, at, err := e.find(ref)
		failed = errors.Join(failed, err)
		uids[ref.ID], at.uid = at.uid, ""
		if err == nil {
			byPlace[at] = append(byPlace[at], ref)
		}
	}
	for at, all := range byPlace {
		c, err := e.cluster(at.context)
		for some := range slices.Chunk(all, maxAsked) {
			if err == nil {
				err = look(ctx, c, at.namespace, some, uids, answers)
			}
		}
		failed = errors.Join(failed, err)
	}
	return answers, failed
}

// look asks a namespace about some jobs, with as many calls as for one.
func look(ctx context.Context, c *kubeapi.Cluster, namespace string, refs []jobs.Ref, uids map[string]string, answers map[string]jobs.Status) error {
	var list struct{ Items []job }
	query := url.Values{"labelSelector": {selector(refs)}, "limit": {maxListed}}
	if err := c.Get(ctx, kubeapi.Path("batch/v1", namespace, "jobs"), query, &list); err != nil {
		return err
	}
	pods, err := podsOf(ctx, c, namespace, refs)
	if err != nil {
		return err
	}
	more := &causes{c: c, namespace: namespace}
	for i := range list.Items {
		j := &list.Items[i]
		if j.Metadata.UID != uids[j.Metadata.Name] { // another one has its name
			continue
		}
		var p *pod
		if n := slices.IndexFunc(pods.Items, func(p pod) bool { return p.Metadata.Labels[labelKey] == j.Metadata.Name }); n >= 0 {
			p = &pods.Items[n]
		}
		s, err := j.status(ctx, p, more)
		if err != nil {
			return err
		}
		s.Reason, s.Detail = printable.Name(limit.Short(s.Reason, 100)), limit.Short(printable.Name(strings.Join(strings.Fields(s.Detail), " ")), maxDetail)
		answers[j.Metadata.Name] = s
	}
	return nil
}

func selector(refs []jobs.Ref) string {
	var names []string
	for _, ref := range refs {
		names = append(names, ref.ID)
	}
	return labelKey + " in (" + strings.Join(names, ",") + ")"
}

// podsOf lists the pods of jobs, the newest first.
func podsOf(ctx context.Context, c *kubeapi.Cluster, namespace string, refs []jobs.Ref) (podList, error) {
	var list podList
	err := c.Get(ctx, kubeapi.Path("v1", namespace, "pods"), url.Values{"labelSelector": {selector(refs)}, "limit": {maxListed}}, &list)
	sorting.StableBy(list.Items, func(a, b pod) int { return b.Metadata.CreationTimestamp.Compare(a.Metadata.CreationTimestamp) })
	return list, err
}

// notStarted is the exit status of a job whose command never ran, as of `plimsoll run`.
const notStarted = 125

// status tells what a Job is at, by itself and its newest pod, nil for none.
func (j *job) status(ctx context.Context, p *pod, more *causes) (s jobs.Status, err error) {
	s.Phase = jobs.Queued
	if p != nil {
		s = p.status()
	}
	switch complete, failed := find(j.Status.Conditions, "Complete", "True"), find(j.Status.Conditions, "Failed", "True"); {
	case complete != nil && s.Phase != jobs.Ended: // its pod has gone meanwhile
		s = jobs.Status{Phase: jobs.Ended, Reason: cmp.Or(complete.Reason, complete.Type), Started: j.Status.StartTime, Ended: j.Status.CompletionTime}
	case failed != nil && s.Phase != jobs.Ended:
		s.Phase, s.Reason, s.Detail, s.ExitCode = jobs.Ended, failed.Reason, failed.Message, notStarted
	case complete == nil && failed == nil && j.Spec.Suspend: // also where a pod of it is just being taken away
		s = jobs.Status{Phase: jobs.Queued}
		s.Reason, s.Detail, err = more.suspended(ctx, j.Metadata.UID)
	case s.Phase == jobs.Ended && s.ExitCode != 0 && j.Spec.BackoffLimit > 0 && failed == nil: // it is tried again
		s = jobs.Status{Phase: jobs.Queued, Reason: s.Reason, Detail: s.Detail}
	case p == nil && s.Phase == jobs.Queued:
		s.Reason, s.Detail, err = more.warning(ctx, j.Metadata.UID)
	case s.Reason == "ContainerCreating", s.Reason == "PodInitializing":
		reason, detail, eventsErr := more.warning(ctx, p.Metadata.UID) // a volume that is not there, say
		s.Reason, s.Detail, err = cmp.Or(reason, s.Reason), cmp.Or(detail, s.Detail), eventsErr
	}
	return s, err
}

// status returns as much as the pod alone tells.
func (p *pod) status() jobs.Status {
	s := jobs.Status{Phase: jobs.Queued, Node: p.Spec.NodeName, Reason: p.Status.Reason, Detail: p.Status.Message}
	agent := p.agent()
	disrupted := find(p.Status.Conditions, "DisruptionTarget", "True")
	switch {
	case agent.State.Terminated != nil:
		ended(&s, *agent.State.Terminated)
	case p.Status.Phase == "Failed" || p.Status.Phase == "Succeeded":
		s.Phase, s.ExitCode = jobs.Ended, notStarted
		for _, c := range p.Status.InitContainerStatuses {
			if t := c.State.Terminated; t != nil && t.ExitCode != 0 && s.Reason == "" {
				s.Reason, s.Detail = cmp.Or(t.Reason, "Error"), fmt.Sprintf("the init container %s ended with status %d: %s", c.Name, t.ExitCode, t.Message)
			}
		}
	case agent.State.Running != nil:
		s.Phase, s.Started = jobs.Running, agent.State.Running.StartedAt
	case find(p.Status.Conditions, "PodScheduled", "False") != nil:
		c := find(p.Status.Conditions, "PodScheduled", "False")
		s.Reason, s.Detail = c.Reason, c.Message
	case p.Spec.NodeName != "":
		s.Phase = jobs.Starting
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			if w := c.State.Waiting; w != nil && (s.Reason == "" || s.Reason == "PodInitializing") {
				s.Reason, s.Detail = w.Reason, w.Message
			}
		}
	}
	if disrupted != nil {
		s.Reason, s.Detail = disrupted.Reason, disrupted.Message
	}
	return s
}

// ended reads how the command ended, and the report that it left behind.
func ended(s *jobs.Status, t terminated) {
	s.Phase, s.ExitCode, s.Started, s.Ended = jobs.Ended, t.ExitCode, t.StartedAt, t.FinishedAt
	message, report := jobs.ParseMessage(t.Message)
	if report != nil {
		s.Report, s.Signal = report, report.Signal
	}
	if t.Reason == "OOMKilled" && s.Signal == "" {
		s.Signal = "SIGKILL"
	}
	if s.Reason == "" {
		s.Reason, s.Detail = t.Reason, message
	}
}
