package sizing

import (
	"errors"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/limit"
)

func TestDecide(t *testing.T) {
	unknown := Host{Err: errors.New("unreadable")}
	for name, c := range map[string]struct {
		s                            config.Settings
		host                         Host
		reservation, memory, minFree limit.Bytes
		asked                        limit.Bytes // MinFree in the terms of admission
	}{
		"auto is at least 4 GiB":         {config.Settings{MemoryMax: config.Auto, InitialEstimate: limit.GiB}, unknown, limit.GiB, 4 * limit.GiB, 0, -1},
		"and twice the reservation":      {config.Settings{MemoryMax: config.Auto, InitialEstimate: 3 * limit.GiB}, unknown, 3 * limit.GiB, 6 * limit.GiB, 0, -1},
		"a limit caps the reservation":   {config.Settings{MemoryMax: limit.GiB, InitialEstimate: 3 * limit.GiB}, unknown, limit.GiB, limit.GiB, 0, -1},
		"auto does not":                  {config.Settings{MemoryMax: config.Auto, Reservation: 9 * limit.GiB}, unknown, 9 * limit.GiB, 18 * limit.GiB, 0, -1},
		"a reservation is set aside":     {config.Settings{MemoryMax: 2 * limit.GiB, InitialEstimate: limit.MiB, Reservation: limit.GiB}, unknown, limit.GiB, 2 * limit.GiB, 0, -1},
		"no limit is smaller than 1 MiB": {config.Settings{MemoryMax: 1, InitialEstimate: limit.GiB}, unknown, limit.MiB, limit.MiB, 0, -1},
		"what is to be kept free":        {config.Settings{MemoryMax: limit.GiB, InitialEstimate: limit.MiB, MinFree: 7 * limit.MiB}, unknown, limit.MiB, limit.GiB, 7 * limit.MiB, 7 * limit.MiB},
		"below what encloses it": {
			config.Settings{MemoryMax: 8 * limit.GiB, InitialEstimate: limit.MiB},
			Host{Reading: headroom.Reading{Cgroups: []headroom.Cgroup{{Path: "/a", Limit: 4 * limit.GiB}, {Path: "/a/b", Limit: headroom.Unlimited}}}},
			limit.MiB, 4*limit.GiB - 128*limit.MiB, 0, -1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := Decide(c.s, estimate.Input{}, c.host)
			if err != nil {
				t.Fatal(err)
			}
			if n.Reservation != c.reservation || n.Memory != c.memory || n.MinFree != c.minFree {
				t.Errorf("reservation %s, memory %s, free %s; want %s, %s, %s", n.Reservation, n.Memory, n.MinFree, c.reservation, c.memory, c.minFree)
			}
			if (n.LimitNote != "") != (len(c.host.Reading.Cgroups) > 0) {
				t.Errorf("note %q", n.LimitNote)
			}
			if got := n.Request(c.s).MinFree; got != c.asked {
				t.Errorf("admission is asked to keep %d free, want %d", got, c.asked)
			}
		})
	}
}

// Light runs lower the reservation, not the limit: a person has said that runs of this tool can need as much.
func TestALimitOfAutoIsNotBelowWhatAPersonStated(t *testing.T) {
	known := estimate.Input{Project: []estimate.Sample{{Demand: 2 * limit.GiB}, {Demand: 2 * limit.GiB}, {Demand: 2 * limit.GiB}, {Demand: 2 * limit.GiB}}}
	large, small := headroom.Reading{MemTotal: 64 * limit.GiB, MemAvailable: 60 * limit.GiB}, headroom.Reading{MemTotal: 8 * limit.GiB, MemAvailable: 7 * limit.GiB}
	for _, c := range []struct {
		s    config.Settings
		host headroom.Reading
		want limit.Bytes
	}{
		{config.Settings{MemoryMax: config.Auto, InitialEstimate: 16 * limit.GiB}, large, 16 * limit.GiB},
		{config.Settings{MemoryMax: config.Auto, InitialEstimate: 16 * limit.GiB, MinFree: limit.GiB}, small, 7 * limit.GiB},
		{config.Settings{MemoryMax: 3 * limit.GiB, InitialEstimate: 16 * limit.GiB}, large, 3 * limit.GiB},
	} {
		n, err := Decide(c.s, known, Host{Reading: c.host})
		if err != nil || n.Memory != c.want || n.Estimate.Bytes >= 3*limit.GiB || n.Estimate.Source != estimate.SourceProject {
			t.Errorf("%+v, %v; want a limit of %v", n, err, c.want.Human())
		}
	}
}

// A limit above what the machine has is not held: the machine runs out first.
func TestALimitAboveTheMachineIsNoted(t *testing.T) {
	small := Host{Reading: headroom.Reading{MemTotal: 8 * limit.GiB, MemAvailable: 7 * limit.GiB}}
	for memory, noted := range map[limit.Bytes]bool{8 * limit.GiB: false, 9 * limit.GiB: true, config.Auto: false} {
		n, err := Decide(config.Settings{MemoryMax: memory, InitialEstimate: 9 * limit.GiB}, estimate.Input{}, small)
		if err != nil || strings.Contains(n.LimitNote, "memory_max is more than the 8 GiB of this machine") != noted {
			t.Errorf("memory_max %d: %q, %v", memory, n.LimitNote, err)
		}
	}
}

// A container of 256 MiB has room for an agent that nobody knows; what somebody said or saw is not changed.
func TestSmallContainer(t *testing.T) {
	small := Host{Reading: headroom.Reading{MemTotal: 256 * limit.MiB, MemAvailable: 250 * limit.MiB}}
	for name, c := range map[string]struct {
		s    config.Settings
		want limit.Bytes
	}{
		"nobody knows":  {config.Settings{MemoryMax: config.Auto, MinFree: config.Auto}, 128 * limit.MiB},
		"somebody said": {config.Settings{MemoryMax: config.Auto, MinFree: config.Auto, InitialEstimate: 300 * limit.MiB}, 300 * limit.MiB},
	} {
		n, err := Decide(c.s, estimate.Input{}, small)
		if err != nil || n.Reservation != c.want || n.MinFree != 32*limit.MiB {
			t.Errorf("%s: %+v, %v", name, n, err)
		}
	}
}

// What other hosts say of a need keeps no run out: it is set aside as far as there is room.
func TestOtherHostsKeepNoRunOut(t *testing.T) {
	samples := []estimate.Sample{{Demand: 900 * limit.GiB, Exact: true}}
	for source, least := range map[string]bool{estimate.SourceFleet: false, estimate.SourceImport: false, estimate.SourceTool: true} {
		known := estimate.Input{Elsewhere: []estimate.Elsewhere{{Source: source, Samples: func() (a, b []estimate.Sample) { return samples, nil }}}}
		s := config.Settings{MemoryMax: config.Auto, InitialEstimate: limit.GiB}
		n, err := Decide(s, known, Host{Err: errors.New("unreadable")})
		if ask := n.Request(s); err != nil || !ask.Yields || (ask.Least > 0) != least || n.Estimate.Source != source {
			t.Errorf("%s: at least %s of %s, %v", source, ask.Least.Human(), ask.Reservation.Human(), err)
		}
	}
}
