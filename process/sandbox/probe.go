package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/internal/process/sandbox/shim"
)

// Probe tries every layer of this operating system by doing the real thing once: a child that takes more memory than it may must be stopped.
// It takes a fraction of a second. nested is true when this process runs inside a run.
func Probe(ctx context.Context, nested bool) []Capability {
	found := map[Layer]Capability{}
	for _, layer := range trialOrder() {
		found[layer] = probeLayer(ctx, layer, nested)
	}
	var list []Capability
	for _, layer := range Layers() {
		if c, ok := found[layer]; ok {
			list = append(list, c)
		}
	}
	return list
}

// probeLayer tries one layer with a child that takes too much memory, and then with one that starts too many processes. Why has the reason if
// the layer does not work, and otherwise remarks.
func probeLayer(ctx context.Context, layer Layer, nested bool) Capability {
	c := Capability{Name: layer, Strength: heldByNobody}
	res, err := tryMemory(ctx, layer, nested)
	if err != nil {
		c.Why = err.Error()
		return c
	}
	c.Available, c.Strength = true, res.Strength
	notes := layerNotes(c, res)
	if c.Pids == ByKernel && tryPids(ctx, layer, nested) != nil {
		c.Pids = ByNobody
		notes = slices.Insert(notes, 0, "the limit of processes did not hold")
	}
	c.Why = strings.Join(notes, "; ")
	return c
}

// runTrial runs a child in one layer and returns its result. The child tries to take amount of a kind ("memory" in bytes, or "pids"), which is more
// than its limit.
func runTrial(ctx context.Context, layer Layer, nested bool, kind string, amount int64) (Result, error) {
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
		ID:     fmt.Sprintf("probe-%d-%s-%s", os.Getpid(), layer, kind),
		Path:   self,
		Args:   []string{shim.Trial, kind, strconv.FormatInt(amount, 10)},
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

// innerReason returns the text of the first layer's error when a start was refused, else that of err.
func innerReason(err error) string {
	if e, ok := errors.AsType[*NotEnforced](err); ok && len(e.Tried) > 0 {
		return e.Tried[0].Err.Error()
	}
	return err.Error()
}

// Trials stores which limits of which layers were seen to hold, so that they are tried once: Saw stores one, Seen reports whether it is
// stored; what is "memory" or "pids". Only limits that held are stored. One that did not is tried again: otherwise whoever can write there
// could make later runs choose a weaker layer.
type Trials interface {
	Seen(layer Layer, what string) bool
	Saw(layer Layer, what string)
}

// What is tried.
const (
	triedMemory = "memory"
	triedPids   = "pids"
)

// triedHere holds the findings of this process; one trial is made at a time.
var triedHere struct {
	sync.Mutex
	held map[string]bool
}

// needsTrial reports whether a layer's limits are tried by a child before a run trusts them. In a job object and under a resource limit an allocation
// fails and nobody else notices. In a control group the kernel kills, and that counts in the groups around it: a container would be shown as killed
// for memory, a session be ended by systemd. There the limit is read back instead; plimsoll doctor tries it.
func needsTrial(layer Layer) bool { return layer == Job || layer == Rlimit }

// tryLimits lets a child run into each limit that the layer claims to hold, once for each limit, and only in the layers of needsTrial. The error says
// that the memory limit does not hold; unheldPids is true if the limit of processes does not.
func (s *Spec) tryLimits(ctx context.Context, layer Layer, claimed Strength) (unheldPids bool, err error) {
	if s.isTrial || !needsTrial(layer) || claimed.Memory == ByNobody && claimed.Pids == ByNobody {
		return false, nil
	}
	triedHere.Lock()
	defer triedHere.Unlock()
	once := func(what string, try func() error) error {
		key := string(layer) + " " + what
		if triedHere.held[key] || s.Trials != nil && s.Trials.Seen(layer, what) {
			return nil
		}
		if err := try(); err != nil {
			return err
		}
		if triedHere.held == nil {
			triedHere.held = map[string]bool{}
		}
		triedHere.held[key] = true
		if s.Trials != nil {
			s.Trials.Saw(layer, what)
		}
		return nil
	}
	if claimed.Memory == ByKernel || claimed.Memory == ByProcess {
		if err := once(triedMemory, func() error { _, err := tryMemory(ctx, layer, s.Nested); return err }); err != nil {
			return false, fmt.Errorf("its memory limit was tried and does not hold: %w", err)
		}
	}
	if claimed.Pids == ByKernel {
		unheldPids = once(triedPids, func() error { return tryPids(ctx, layer, s.Nested) }) != nil
	}
	return unheldPids, nil
}

// tryMemory starts a child that takes more memory than it may, and returns its result. The error says that it could not start or was not
// stopped.
func tryMemory(ctx context.Context, layer Layer, nested bool) (Result, error) {
	take := trialAmount(layer)
	res, err := runTrial(ctx, layer, nested, triedMemory, int64(take))
	if err != nil {
		return res, errors.New(innerReason(err))
	}
	if res.ExitCode != 137 && res.ExitCode != shim.Stopped {
		return res, fmt.Errorf("a child took %s under a limit of %s and was not stopped (exit %d)", take.Human(), trialLimit.Human(), res.ExitCode)
	}
	return res, nil
}

// tryPids starts a child that starts more processes than it may. The error says that it could not start or was not stopped.
func tryPids(ctx context.Context, layer Layer, nested bool) error {
	res, err := runTrial(ctx, layer, nested, triedPids, 2*trialPids)
	if err == nil && res.ExitCode != shim.Stopped {
		err = errors.New("the limit of processes did not hold")
	}
	return err
}
