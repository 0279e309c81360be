//go:build darwin || windows

package sandbox

import (
	"github.com/plimsoll/plimsoll/limit"
)

// The trial: a child takes twice what it is allowed. The limits leave room for the child
// itself, whose program is this one.
const (
	trialLimit = 128 * limit.MiB
	trialPids  = 8
)

// trialAmount returns the memory that the child of a trial takes, which is more than its limit.
func trialAmount(Layer) limit.Bytes { return 2 * trialLimit }

// trialOrder returns the layers in the order in which they are tried.
func trialOrder() (order []Layer) {
	for _, b := range builders() {
		order = append(order, b.layer)
	}
	return order
}

// layerNotes returns remarks about a layer that works.
func layerNotes(c Capability, _ Result) []string {
	if note := layerNote(c.Name); note != "" {
		return []string{note}
	}
	return nil
}
