package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/jobs/kubeapi"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/journal"
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

// Status says what a job is at.
func (e *Engine) Status(ctx context.Context, ref string) (jobs.Status, error) {
	c, at, err := e.find(ref)
	if err != nil {
		return jobs.Status{}, err
	}
	var j job
	err = c.Get(ctx, kubeapi.Path("batch/v1", at.namespace, "jobs", at.name), nil, &j)
	if kubeapi.StatusOf(err) == http.StatusNotFound || err == nil && j.Metadata.UID != at.uid {
		return jobs.Status{Phase: jobs.Lost, Reason: "NotFound", Detail: "somebody deleted the Job, or its time after its end is over"}, nil
	}
	if err != nil {
		return jobs.Status{}, err
	}
	pods, err := podsOf(ctx, c, at)
	if err != nil {
		return jobs.Status{}, err
	}
	s := jobs.Status{Phase: jobs.Queued}
	var p *pod
	if len(pods.Items) > 0 {
		p = &pods.Items[0]
		s = p.status()
	}
	switch complete, failed := find(j.Status.Conditions, "Complete", "True"), find(j.Status.Conditions, "Failed", "True"); {
	case complete != nil && s.Phase != jobs.Ended: // its pod has gone meanwhile
		s = jobs.Status{Phase: jobs.Ended, Reason: cmp.Or(complete.Reason, "Complete"), Started: j.Status.StartTime, Ended: j.Status.CompletionTime}
	case failed != nil && s.Phase != jobs.Ended:
		s.Phase, s.Reason, s.Detail, s.ExitCode = jobs.Ended, failed.Reason, failed.Message, notStarted
	case complete == nil && failed == nil && j.Spec.Suspend: // also where a pod of it is just being taken away
		s = jobs.Status{Phase: jobs.Queued}
		s.Reason, s.Detail, err = suspended(ctx, c, at, j)
	case s.Phase == jobs.Ended && s.ExitCode != 0 && j.Spec.BackoffLimit > 0 && failed == nil: // it is tried again
		s = jobs.Status{Phase: jobs.Queued, Reason: s.Reason, Detail: s.Detail}
	case p == nil:
		s.Reason, s.Detail, err = warning(ctx, c, at.namespace, j.Metadata.UID)
	case s.Reason == "ContainerCreating", s.Reason == "PodInitializing":
		reason, detail, _ := warning(ctx, c, at.namespace, p.Metadata.UID) // a volume that is not there, say
		s.Reason, s.Detail = cmp.Or(reason, s.Reason), cmp.Or(detail, s.Detail)
	}
	s.Reason, s.Detail = printable.Name(limit.Short(s.Reason, 100)), oneLine(s.Detail)
	return s, err
}

// notStarted is the exit status of a job whose command never ran, as of `plimsoll run`.
const notStarted = 125

// podsOf lists the pods of a job, the newest first.
func podsOf(ctx context.Context, c *kubeapi.Cluster, at place) (podList, error) {
	var list podList
	err := c.Get(ctx, kubeapi.Path("v1", at.namespace, "pods"), url.Values{"labelSelector": {labelKey + "=" + at.name}, "limit": {"50"}}, &list)
	slices.SortStableFunc(list.Items, func(a, b pod) int { return b.Metadata.CreationTimestamp.Compare(a.Metadata.CreationTimestamp) })
	return list, err
}

// status is what the pod alone tells.
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
	message := t.Message
	if i := strings.LastIndex("\n"+message, "\n{"); i >= 0 {
		var r journal.Report
		if json.Unmarshal([]byte(message[i:]), &r) == nil && r.Schema == journal.ReportSchema {
			s.Report, s.Signal, message = &r, r.Signal, message[:i]
		}
	}
	if t.Reason == "OOMKilled" && s.Signal == "" {
		s.Signal = "killed"
	}
	if s.Reason == "" {
		s.Reason, s.Detail = t.Reason, message
	}
}

func oneLine(text string) string {
	return limit.Short(printable.Name(strings.Join(strings.Fields(text), " ")), maxDetail)
}

// warning returns the newest warning among the events of an object; "" for none, and where events may not be read.
func warning(ctx context.Context, c *kubeapi.Cluster, namespace, uid string) (reason, detail string, err error) {
	var list struct {
		Items []struct {
			Reason, Message, Type    string
			LastTimestamp, EventTime time.Time
			Metadata                 metadata
		}
	}
	err = c.Get(ctx, kubeapi.Path("v1", namespace, "events"), url.Values{"fieldSelector": {"involvedObject.uid=" + uid + ",type=Warning"}, "limit": {"100"}}, &list)
	if kubeapi.StatusOf(err) == http.StatusForbidden {
		return "", "", nil
	}
	var newest time.Time
	for _, e := range list.Items {
		at := e.LastTimestamp
		if at.IsZero() {
			at = cmp.Or(e.EventTime, e.Metadata.CreationTimestamp)
		}
		if !at.Before(newest) {
			newest, reason, detail = at, e.Reason, e.Message
		}
	}
	return reason, detail, err
}

// kueue returns the version of Kueue's API, "" where there is none.
func kueue(ctx context.Context, c *kubeapi.Cluster) (string, error) {
	return c.Version(ctx, "kueue.x-k8s.io")
}

// checkQueue refuses a queue that is not there: without Kueue the Job would start at once.
func checkQueue(ctx context.Context, c *kubeapi.Cluster, queue string) error {
	if queue == "" {
		return nil
	}
	version, err := kueue(ctx, c)
	if err != nil {
		return err
	}
	if version == "" {
		return fmt.Errorf("queue %q is one of Kueue, which the cluster of context %s does not have; leave the queue out", printable.Name(queue), printable.Name(c.Context))
	}
	err = c.Get(ctx, kubeapi.Path(version, c.Namespace, "localqueues", queue), nil, nil)
	switch kubeapi.StatusOf(err) {
	case http.StatusNotFound:
		return fmt.Errorf("there is no queue %q in namespace %s; kubectl get localqueues lists them", printable.Name(queue), c.Namespace)
	case http.StatusForbidden: // Kueue says it later
		return nil
	}
	return err
}

// suspended says why a Job waits for whoever has suspended it, which is Kueue where it has a queue.
func suspended(ctx context.Context, c *kubeapi.Cluster, at place, j job) (reason, detail string, err error) {
	reason, detail = "Suspended", "the Job is suspended"
	version, err := kueue(ctx, c)
	if err != nil || version == "" {
		return reason, detail, err
	}
	var list struct {
		Items []struct {
			Status struct{ Conditions []condition }
		}
	}
	err = c.Get(ctx, kubeapi.Path(version, at.namespace, "workloads"), url.Values{"labelSelector": {"kueue.x-k8s.io/job-uid=" + j.Metadata.UID}, "limit": {"10"}}, &list)
	if kubeapi.StatusOf(err) == http.StatusForbidden {
		return reason, detail, nil
	}
	for _, w := range list.Items {
		for _, c := range []*condition{
			find(w.Status.Conditions, "Admitted", "False"), find(w.Status.Conditions, "QuotaReserved", "False"), find(w.Status.Conditions, "Evicted", "True"),
		} {
			if c != nil {
				reason, detail = c.Reason, c.Message
			}
		}
	}
	return reason, detail, err
}
