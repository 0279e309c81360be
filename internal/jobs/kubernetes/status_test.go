package kubernetes

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/journal"
)

func parsed(t *testing.T, text string) (o object) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return o
}

// The parts of what a cluster says, as it says them.
const (
	jobText = `{"metadata": {"name": "claude-1", "uid": "J", "labels": {"plimsoll.dev/job": "claude-1"}}, "spec": SPEC, "status": STATUS}`
	podText = `{"metadata": {"name": "claude-1-x", "uid": "P", "creationTimestamp": "2026-11-29T10:00:00Z", "labels": {"plimsoll.dev/job": "claude-1"}}, "spec": {"nodeName": "NODE"}, "status": STATUS}`
	endText = `{"phase": "PHASE", "containerStatuses": [{"name": "agent", "state": {"terminated": {"exitCode": CODE, "reason": "REASON", "message": MESSAGE,
		"startedAt": "2026-11-29T10:00:01Z", "finishedAt": "2026-11-29T10:00:09Z"}}}]}`
)

func jobIn(spec, status string) string {
	return strings.NewReplacer("SPEC", spec, "STATUS", status).Replace(jobText)
}

func podIn(node, status string) string {
	return strings.NewReplacer("NODE", node, "STATUS", status).Replace(podText)
}

func endedAs(phase, code, reason, message string) string {
	return podIn("n1", strings.NewReplacer("PHASE", phase, "CODE", code, "REASON", reason, "MESSAGE", message).Replace(endText))
}

// Each state is told in the cluster's own words, from the queue to the end.
func TestStatus(t *testing.T) {
	const active, done = `{"startTime": "2026-11-29T09:59:59Z"}`, `{"conditions": [{"type": "Complete", "status": "True", "reason": "CompletionsReached"}], "completionTime": "2026-11-29T10:00:09Z"}`
	failed := func(reason string) string {
		return `{"conditions": [{"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "True", "reason": "` + reason + `", "message": "Job was active longer than specified deadline"}]}`
	}
	waiting := func(kind, reason, message string) string {
		return podIn("n1", `{"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}], "`+kind+`": [{"name": "agent", "state": {"waiting": {"reason": "`+reason+`", "message": "`+message+`"}}}]}`)
	}
	report, _ := json.Marshal(journal.Report{Schema: journal.ReportSchema, Outcome: journal.OutcomeOOM, ExitCode: 137, Signal: "SIGKILL", PeakBytes: 7})
	message, _ := json.Marshal("plimsoll: claude: killed for memory\n" + string(report) + "\n")
	event := func(of, reason, message, at string) string {
		return `{"type": "Warning", "reason": "` + reason + `", "message": "` + message + `", "involvedObject": {"uid": "` + of + `"}, "lastTimestamp": "` + at + `"}`
	}
	workload := func(conditions string) string {
		return `{"metadata": {"name": "w", "labels": {"kueue.x-k8s.io/job-uid": "J"}}, "status": {"conditions": [` + conditions + `]}}`
	}
	for name, c := range map[string]struct {
		job, pod, event, workload string
		want                      jobs.Status
	}{
		"just made": {job: jobIn(`{}`, `{}`), want: jobs.Status{Phase: jobs.Queued}},
		"quota":     {job: jobIn(`{}`, active), event: event("J", "FailedCreate", "exceeded quota: memory", "2026-11-29T10:00:00Z"), want: jobs.Status{Phase: jobs.Queued, Reason: "FailedCreate", Detail: "exceeded quota: memory"}},
		"Kueue": {
			job: jobIn(`{"suspend": true}`, `{}`), workload: workload(`{"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "insufficient unused quota for memory"}`),
			want: jobs.Status{Phase: jobs.Queued, Reason: "Pending", Detail: "insufficient unused quota for memory"},
		},
		"Kueue has preempted it": {
			job: jobIn(`{"suspend": true}`, `{}`), pod: endedAs("Failed", "143", "Error", `""`),
			workload: workload(`{"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "x"}, {"type": "Evicted", "status": "True", "reason": "Preempted", "message": "for a higher priority"}`),
			want:     jobs.Status{Phase: jobs.Queued, Reason: "Preempted", Detail: "for a higher priority"},
		},
		"suspended by somebody": {job: jobIn(`{"suspend": true}`, `{}`), want: jobs.Status{Phase: jobs.Queued, Reason: "Suspended", Detail: "whoever has suspended the Job has not resumed it"}},
		"unschedulable": {
			job: jobIn(`{}`, active), pod: podIn("", `{"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available:\n3 Insufficient memory."}]}`),
			want: jobs.Status{Phase: jobs.Queued, Reason: "Unschedulable", Detail: "0/3 nodes are available: 3 Insufficient memory."},
		},
		"no such image":  {job: jobIn(`{}`, active), pod: waiting("containerStatuses", "ImagePullBackOff", "Back-off pulling image"), want: jobs.Status{Phase: jobs.Starting, Node: "n1", Reason: "ImagePullBackOff", Detail: "Back-off pulling image"}},
		"init container": {job: jobIn(`{}`, active), pod: waiting("initContainerStatuses", "CreateContainerConfigError", "no secret"), want: jobs.Status{Phase: jobs.Starting, Node: "n1", Reason: "CreateContainerConfigError", Detail: "no secret"}},
		"no such volume": {
			job: jobIn(`{}`, active), pod: waiting("containerStatuses", "ContainerCreating", ""),
			event: event("P", "FailedMount", "claim not found", "2026-11-29T10:00:05Z") + "," + event("P", "FailedOld", "x", "2026-11-29T10:00:04Z") + "," + event("other", "FailedOther", "x", "2026-11-29T10:00:06Z"),
			want:  jobs.Status{Phase: jobs.Starting, Node: "n1", Reason: "FailedMount", Detail: "claim not found"},
		},
		"running": {
			job: jobIn(`{}`, active), pod: podIn("n1", `{"phase": "Running", "containerStatuses": [{"name": "agent", "state": {"running": {"startedAt": "2026-11-29T10:00:01Z"}}}]}`),
			want: jobs.Status{Phase: jobs.Running, Node: "n1", Started: time.Date(2026, 11, 29, 10, 0, 1, 0, time.UTC)},
		},
		"node lost": {
			job: jobIn(`{}`, active), pod: podIn("n1", `{"phase": "Running", "reason": "NodeLost", "message": "Node n1 which was running pod is unresponsive", "containerStatuses": [{"name": "agent", "state": {"running": {}}}]}`),
			want: jobs.Status{Phase: jobs.Running, Node: "n1", Reason: "NodeLost", Detail: "Node n1 which was running pod is unresponsive"},
		},
		"done":          {job: jobIn(`{}`, done), pod: endedAs("Succeeded", "0", "Completed", `""`), want: jobs.Status{Phase: jobs.Ended, Node: "n1", Reason: "Completed"}},
		"done and gone": {job: jobIn(`{}`, done), want: jobs.Status{Phase: jobs.Ended, Reason: "CompletionsReached"}},
		"failed":        {job: jobIn(`{}`, active), pod: endedAs("Failed", "3", "Error", `"last words"`), want: jobs.Status{Phase: jobs.Ended, Node: "n1", Reason: "Error", Detail: "last words", ExitCode: 3}},
		"tried again":   {job: jobIn(`{"backoffLimit": 2}`, active), pod: endedAs("Failed", "3", "Error", `"last words"`), want: jobs.Status{Phase: jobs.Queued, Reason: "Error", Detail: "last words"}},
		"tried enough":  {job: jobIn(`{"backoffLimit": 2}`, failed("BackoffLimitExceeded")), pod: endedAs("Failed", "3", "Error", `""`), want: jobs.Status{Phase: jobs.Ended, Node: "n1", Reason: "Error", ExitCode: 3}},
		"over memory":   {job: jobIn(`{}`, active), pod: endedAs("Failed", "137", "OOMKilled", `"plimsoll: node with 253 MiB"`), want: jobs.Status{Phase: jobs.Ended, Node: "n1", Reason: "OOMKilled", Detail: "plimsoll: node with 253 MiB", ExitCode: 137, Signal: "SIGKILL"}},
		"with a report": {job: jobIn(`{}`, active), pod: endedAs("Failed", "137", "Error", string(message)), want: jobs.Status{Phase: jobs.Ended, Node: "n1", Reason: "Error", Detail: "plimsoll: claude: killed for memory", ExitCode: 137, Signal: "SIGKILL"}},
		"evicted": {
			job: jobIn(`{}`, active), pod: podIn("n1", `{"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}`),
			want: jobs.Status{Phase: jobs.Ended, Node: "n1", Reason: "Evicted", Detail: "The node was low on resource: memory.", ExitCode: 125},
		},
		"preempted": {
			job: jobIn(`{}`, active), pod: podIn("n1", `{"phase": "Failed", "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "preempting to accommodate a higher priority pod"}], "containerStatuses": [{"name": "agent", "state": {"terminated": {"exitCode": 143, "reason": "Error"}}}]}`),
			want: jobs.Status{Phase: jobs.Ended, Node: "n1", Reason: "PreemptionByScheduler", Detail: "preempting to accommodate a higher priority pod", ExitCode: 143},
		},
		"no commit": {
			job: jobIn(`{}`, active), pod: podIn("n1", `{"phase": "Failed", "initContainerStatuses": [{"name": "plimsoll", "state": {"terminated": {"exitCode": 0}}}, {"name": "work", "state": {"terminated": {"exitCode": 128, "reason": "Error", "message": "fatal: not our ref"}}}]}`),
			want: jobs.Status{Phase: jobs.Ended, Node: "n1", Reason: "Error", Detail: "the init container work ended with status 128: fatal: not our ref", ExitCode: 125},
		},
		"out of time, and gone": {job: jobIn(`{}`, failed("DeadlineExceeded")), want: jobs.Status{Phase: jobs.Ended, Reason: "DeadlineExceeded", Detail: "Job was active longer than specified deadline", ExitCode: 125}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &api{kueue: true}
			e := start(t, a, images())
			c2, _ := e.cluster("", "")
			a.put("jobs", parsed(t, c.job))
			if c.pod != "" {
				a.put("pods", parsed(t, strings.ReplaceAll(strings.ReplaceAll(c.pod, `"uid": "P"`, `"uid": "older"`), "10:00:00Z", "09:00:00Z"))) // of an earlier try
				a.objects["pods"][0]["status"] = map[string]any{"phase": "Failed"}
				a.put("pods", parsed(t, c.pod))
			}
			if c.event != "" {
				a.put("events", parsed(t, `{"items": [`+c.event+`]}`))
				a.objects["events"] = nil
				for _, o := range parsed(t, `{"items": [`+c.event+`]}`)["items"].([]any) {
					a.put("events", o.(map[string]any))
				}
			}
			if c.workload != "" {
				a.put("workloads", parsed(t, c.workload))
			}
			ref := jobs.Ref{ID: "claude-1", At: place{"agents", "J", c2.Host(), "lab/one"}.String()}
			gone := jobs.Ref{ID: "gone", At: ref.At}
			answers, err := e.Status(t.Context(), []jobs.Ref{ref, gone})
			if err != nil || len(answers) != 1 {
				t.Fatalf("%v, %v", answers, err)
			}
			got := answers["claude-1"]
			if name == "with a report" && (got.Report == nil || got.Report.PeakBytes != 7) {
				t.Errorf("the report is %+v", got.Report)
			}
			if c.want.Phase == jobs.Ended && c.pod != "" && c.want.ExitCode != 125 && name != "preempted" && got.Ended.Sub(got.Started) != 8*time.Second {
				t.Errorf("from %v to %v", got.Started, got.Ended)
			}
			if name == "preempted" && got.Outcome() != journal.OutcomeSignalled {
				t.Errorf("its outcome is %s", got.Outcome())
			}
			got.Report = nil
			if got.Ended = c.want.Ended; got.Phase != jobs.Running {
				got.Started = c.want.Started
			}
			if got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// A job of the same name that came later is another one, and what may not be read tells nothing.
func TestStatusOfAnother(t *testing.T) {
	a := &api{}
	e := start(t, a, images())
	c, _ := e.cluster("", "")
	a.put("jobs", parsed(t, jobIn(`{}`, `{}`)))
	a.before = func(w http.ResponseWriter, r *http.Request) bool {
		forbidden := strings.HasSuffix(r.URL.Path, "/events")
		if forbidden {
			refuse(w, 403, "events is forbidden")
		}
		return forbidden
	}
	for uid, want := range map[string]int{"J": 1, "older": 0} {
		answers, err := e.Status(t.Context(), []jobs.Ref{{ID: "claude-1", At: place{"agents", uid, c.Host(), "lab/one"}.String()}})
		if err != nil || len(answers) != want {
			t.Errorf("%s: %v, %v", uid, answers, err)
		}
	}
}

// Many jobs are asked about with few calls.
func TestStatusOfMany(t *testing.T) {
	a := &api{}
	e := start(t, a, images())
	c, _ := e.cluster("", "")
	var refs []jobs.Ref
	for range 3 * maxAsked {
		id := jobs.NewID("claude")
		refs = append(refs, jobs.Ref{ID: id, At: place{"agents", "J", c.Host(), "lab/one"}.String()})
		a.put("jobs", parsed(t, strings.ReplaceAll(jobIn(`{}`, `{}`), "claude-1", id)))
	}
	answers, err := e.Status(t.Context(), refs)
	if err != nil || len(answers) != len(refs) || len(a.asked) > 9 {
		t.Errorf("%d answers from %d calls, %v", len(answers), len(a.asked), err)
	}
}

func FuzzStatus(f *testing.F) {
	f.Add([]byte(jobIn(`{}`, `{}`)), []byte(endedAs("Failed", "137", "OOMKilled", `"plimsoll: x\n{\"schema\":1}"`)))
	f.Add([]byte(`{"status": {"conditions": [{"type": "Failed", "status": "True"}]}}`), []byte(`{"status": {"phase": "Failed"}}`))
	f.Add([]byte(`[]`), []byte(`{"status": {"containerStatuses": [{"name": "agent", "state": {"terminated": {"message": "{"}}}]}}`))
	f.Fuzz(func(t *testing.T, jobBody, podBody []byte) {
		var j job
		var p pod
		if json.Unmarshal(jobBody, &j) != nil || json.Unmarshal(podBody, &p) != nil {
			return
		}
		more := &causes{warnings: map[string]condition{}, workloads: map[string]condition{}}
		for _, p := range []*pod{nil, &p} {
			s, err := j.status(t.Context(), p, more)
			if err != nil || s.Phase == "" {
				t.Errorf("%+v, %v", s, err)
			}
		}
	})
}
