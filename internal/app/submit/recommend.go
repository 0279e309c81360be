package submit

import (
	"context"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/jobs/kubernetes"
	"github.com/plimsoll/plimsoll/limit"
)

// RecommendOptions are the flags of `plimsoll recommend`.
type RecommendOptions struct {
	On, Context, Namespace string
	// Name keeps to one object, "" is all.
	Name string
}

// Recommendation holds what a container in a cluster asks for, and what runs of its tool have shown to need. Sizes are bytes, 0 for none.
type Recommendation struct {
	Kind         string      `json:"kind"`
	Namespace    string      `json:"namespace"`
	Name         string      `json:"name"`
	Container    string      `json:"container"`
	Tool         string      `json:"tool"`
	Variant      string      `json:"variant,omitempty"`
	RequestBytes limit.Bytes `json:"request_bytes"`
	LimitBytes   limit.Bytes `json:"limit_bytes"`
	// LearnedRequestBytes and LearnedLimitBytes are 0 where no run has shown a need.
	LearnedRequestBytes limit.Bytes `json:"learned_request_bytes"`
	LearnedLimitBytes   limit.Bytes `json:"learned_limit_bytes"`
	Samples             int         `json:"samples"`
	Source              string      `json:"source"`
	// Patch gives the container what was learned; Command does where the kind knows no such patch.
	Patch   map[string]any `json:"patch,omitempty"`
	Command string         `json:"command,omitempty"`
}

// Recommend lists the workloads of a cluster that run under plimsoll, each with the memory that its tool has needed so far and the change
// that would set that. It changes nothing in the cluster.
func Recommend(ctx context.Context, c *core.Core, o RecommendOptions) ([]Recommendation, error) {
	if o.On != Kubernetes {
		return nil, fmt.Errorf("--on %s: nothing that already runs is listed there; plimsoll stats TOOL --format slurm, or nomad, says what to ask for", o.On)
	}
	cluster, err := OpenCluster(c, o.Context, o.Namespace)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, handTime, fmt.Errorf("the cluster has not answered within %s", handTime))
	defer cancel()
	workloads, err := kubernetes.Workloads(ctx, cluster, o.Name, c.Warn)
	if err != nil {
		return nil, err
	}
	all := []Recommendation{}
	for i := range workloads {
		w := &workloads[i]
		next, _, err := run.PredictJob(c, false, "", w.Command)
		if err != nil {
			return nil, err
		}
		r := Recommendation{
			Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, Container: w.Container, Tool: next.Tool, Variant: next.Variant,
			RequestBytes: w.Request, LimitBytes: w.Limit, Samples: next.Samples, Source: next.Source,
		}
		if next.Samples > 0 && !next.Guessed {
			r.LearnedRequestBytes, r.LearnedLimitBytes = limit.Bytes(next.ReservationBytes), limit.Bytes(next.LimitBytes)
			r.Patch, r.Command = w.Patch(r.LearnedRequestBytes, r.LearnedLimitBytes)
		}
		all = append(all, r)
	}
	if len(all) == 0 && o.Name != "" {
		return nil, fmt.Errorf("nothing of the name %q in namespace %s runs plimsoll run -- COMMAND, or names its tool in the annotation %s",
			limit.Short(o.Name, 80), cluster.Namespace, kubernetes.ToolKey)
	}
	return all, nil
}

// YAML returns a value as a document of YAML.
func YAML(v any) (string, error) {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(v)
	return b.String(), err
}
