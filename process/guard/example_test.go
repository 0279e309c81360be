package guard_test

import (
	"context"
	"fmt"
	"os"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/guard"
)

// A program asks before it starts a worker, and remembers what the worker needed.
func Example() {
	dir, err := os.MkdirTemp("", "guard-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	g, err := guard.Open(guard.Options{
		StateDir: dir, RuntimeDir: dir, // leave both out to share them with plimsoll run
		InitialEstimates: map[string]limit.Bytes{"indexer": 2 * limit.GiB},
		Headroom: func() (headroom.Reading, error) { // leave it out to ask this machine
			return headroom.Reading{MemTotal: 8 * limit.GiB, MemAvailable: 6 * limit.GiB}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	worker := guard.Request{Tool: "indexer", Project: usage.Project{Key: "web-1f3a", Path: "/src/web"}}

	a, err := g.Admit(context.Background(), worker)
	if err != nil { // a *admission.Refused says what is missing
		fmt.Println(err)
		return
	}
	fmt.Println("reserved:", a.Estimate().Bytes, a.Estimate().Source)

	// … the worker runs here, and takes 1 GiB …

	err = a.Record(usage.Run{Peak: 1 * limit.GiB, Exact: true, Outcome: journal.OutcomeOK})
	if err == nil {
		err = a.Release()
	}
	if err != nil {
		fmt.Println(err)
		return
	}

	d, err := g.Check(context.Background(), worker)
	fmt.Println("the next:", d.Estimate.Bytes.Human(), d.Estimate.Source, d.Admitted, err)
	// Output:
	// reserved: 2G configured
	// the next: 3.42 GiB history:project true <nil>
}
