package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
)

// replicasBench lets conversations go to two replicas in turn, and to one proxy without a store, request by request.
func replicasBench(o *Out, args []string) {
	store := natsserver.Start(o).URL
	b := o.proxyRun(args)
	single := b.proxy("child-replica", "")
	replicas := []*server{b.proxy("child-replica", store), b.proxy("child-replica", store)}
	for _, c := range []struct {
		name   string
		result int
	}{{"nothing is decided", 500}, {"a result is bounded in every request", 6000}} {
		var alone, shared []time.Duration
		for talk := range 2 * b.scale {
			messages := []any{map[string]any{"role": "user", "content": fmt.Sprintf("task %d of %s", talk, c.name)}}
			for turn := range 40 {
				id := fmt.Sprint("call_", turn)
				messages = append(messages,
					map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "shell", "arguments": `{"cmd":"ls"}`}}}},
					map[string]any{"role": "tool", "tool_call_id": id, "content": strings.Repeat(fmt.Sprintf("line of turn %d\n", turn), c.result/16)})
				body := must(json.Marshal(map[string]any{"model": "gpt-4o", "messages": messages}))
				alone = append(alone, b.timedPost(single, body))
				shared = append(shared, b.timedPost(replicas[turn%2], body))
			}
		}
		for _, q := range quantiles {
			without, with := quantile(alone, q.part), quantile(shared, q.part)
			o.Add(Row{Case: c.name, Metric: q.name, Value: us(with), Unit: "µs", Baseline: "one proxy, no store", BaselineValue: us(without)})
			o.Add(Row{Case: c.name, Metric: "added " + q.name, Value: us(with-without) / 1000, Unit: "ms", Baseline: "goal", BaselineValue: 5})
		}
	}
}
