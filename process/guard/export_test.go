package guard

import "github.com/plimsoll/plimsoll/internal/process/headroom"

// SetHeadroom replaces how the guard reads the memory of the machine.
func (g *Guard) SetHeadroom(read func() (headroom.Reading, error)) { g.headroom = read }
