package guard

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/limit"
)

// A program that sets nothing keeps the default free, one that asks for nothing keeps nothing: as a configuration's "auto" and 0.
func TestMinFreeOfAProgram(t *testing.T) {
	reading := headroom.Reading{MemTotal: 16 * limit.GiB, MemAvailable: 12 * limit.GiB}
	for asked, want := range map[limit.Bytes]limit.Bytes{0: headroom.MinFree(reading.Capacity()), -1: -1, 5: 5} {
		g, err := Open(Options{
			StateDir: t.TempDir(), RuntimeDir: t.TempDir(), MinFree: asked,
		})
		if err != nil {
			t.Fatal(err)
		}
		g.SetHeadroom(func() (headroom.Reading, error) { return reading, nil })
		if ask, _ := g.makeRequest(Request{Tool: "x"}); ask.MinFree != want {
			t.Errorf("%d: %d is kept free, want %d", asked, ask.MinFree, want)
		}
	}
}

// SetHeadroom replaces how the guard reads the memory of the machine.
func (g *Guard) SetHeadroom(read func() (headroom.Reading, error)) { g.headroom = read }
