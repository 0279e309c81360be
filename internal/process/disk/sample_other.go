//go:build !linux

package disk

import "github.com/plimsoll/plimsoll/limit"

// Supported reports whether this system can be watched.
const Supported = false

type sampler struct{}

func newSampler([]string) *sampler            { return &sampler{} }
func (*sampler) look([]Process, bool) Reading { return Reading{} }

func (*sampler) fills(limit.Bytes) bool { return true }

func (*sampler) nobodyWrites(limit.Bytes) bool { return false }

func (*sampler) close() {}
