//go:build darwin || windows

package sandbox

import (
	"context"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

// The trial: a child takes twice what it is allowed. The limits leave room for the child
// itself, whose program is this one.
const (
	trialLimit = 128 * limit.MiB
	trialPids  = 8
)

func trialTake(Layer) limit.Bytes { return 2 * trialLimit }

// Probe tries every layer of this operating system by doing the real thing once: a child
// that takes more memory than it may must be stopped. It takes a fraction of a second.
// nested is true when this process runs inside a run.
func Probe(ctx context.Context, nested bool) []Capability {
	var list []Capability
	for _, b := range builders() {
		list = append(list, probeLayer(ctx, b.layer, nested))
	}
	return list
}

func probeLayer(ctx context.Context, layer Layer, nested bool) Capability {
	c := Capability{Name: layer, Strength: heldByNobody}
	res, err := tryMemory(ctx, layer, nested)
	if err != nil {
		c.Why = err.Error()
		return c
	}
	c.Available, c.Strength = true, res.Strength
	var notes []string
	if note := layerNote(layer); note != "" {
		notes = append(notes, note)
	}
	if c.Pids == ByKernel {
		if tryPids(ctx, layer, nested) != nil {
			c.Pids = ByNobody
			notes = append(notes, "the limit of processes did not hold")
		}
	}
	c.Why = strings.Join(notes, "; ")
	return c
}
