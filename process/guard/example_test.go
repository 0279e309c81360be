package guard_test

import (
	"context"
	"fmt"
	"os"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/guard"
	"github.com/plimsoll/plimsoll/process/sandbox"
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
		InitialEstimates: map[string]limit.Bytes{"indexer": 20 * limit.MiB},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	worker := guard.Request{Tool: "indexer", Project: "/src/web"}

	a, err := g.Admit(context.Background(), worker)
	if err != nil { // a *admission.Refused says what is missing
		fmt.Println(err)
		return
	}
	fmt.Println("reserved:", a.Estimate().Bytes, a.Estimate().Source)

	// … the worker runs here, and takes 10 MiB …

	err = a.Record(sandbox.Result{Peak: sandbox.Peak{Bytes: 10 * limit.MiB, Exact: true}}, limit.GiB)
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
	// reserved: 20M configured
	// the next: 20 MiB history:project true <nil>
}
