package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"github.com/plimsoll/plimsoll/internal/process/sandbox/shim"
)

// trial runs a child in one layer that tries to take amount of what ("memory" in bytes, or "pids"), which is more than it may, and returns
// its result.
func trial(ctx context.Context, layer Layer, nested bool, what string, amount int64) (Result, error) {
	self, err := os.Executable()
	if err != nil {
		return Result{}, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return Result{}, err
	}
	defer null.Close()
	run, err := Start(ctx, Spec{
		ID:     fmt.Sprintf("probe-%d-%s-%s", os.Getpid(), layer, what),
		Path:   self,
		Args:   []string{shim.Trial, what, strconv.FormatInt(amount, 10)},
		Env:    []string{"GOMAXPROCS=1"},
		Files:  []*os.File{null, null, null},
		Limits: Limits{Memory: trialLimit, Pids: trialPids, CPUWeight: BackgroundWeight, CPUs: float64(runtime.NumCPU())},
		Layers: []Layer{layer},
		Nested: nested,
		Detach: true, isTrial: true,
	})
	if err != nil {
		return Result{}, err
	}
	return run.Wait()
}

// reason returns the text of the first layer's error when a start was refused, else that of err.
func reason(err error) string {
	if e, ok := errors.AsType[*NotEnforced](err); ok && len(e.Tried) > 0 {
		return e.Tried[0].Err.Error()
	}
	return err.Error()
}
