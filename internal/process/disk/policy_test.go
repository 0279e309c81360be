package disk_test

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/process/disk"
	"github.com/plimsoll/plimsoll/limit"
)

const gib = limit.GiB

// reading is a run that has written so much, on a disk of 100 GiB that had 50 GiB free at first.
func reading(free, written limit.Bytes, writers ...disk.Process) disk.Reading {
	return disk.Reading{
		Spaces:  []disk.Space{{Path: "/", Total: 100 * gib, First: 50 * gib, Free: free}},
		Written: written, Writers: writers,
	}
}

func victims(events []disk.Event) (pids []int) {
	for _, e := range events {
		if e.Victim != nil {
			pids = append(pids, e.Victim.PID)
		}
	}
	return pids
}

func TestTheLargestWriterGoesFirstAndOnlyForWhatTheRunWrote(t *testing.T) {
	agent := disk.Process{PID: 1, Recent: limit.MiB}
	hog := disk.Process{PID: 2, Recent: 900 * limit.MiB}
	p := disk.Policy{Lines: disk.Lines{WriteMax: 10 * gib}}
	if e := p.Look(reading(45*gib, 5*gib, agent, hog)); len(e) != 0 {
		t.Fatalf("half way: %+v", e)
	}
	if e := p.Look(reading(41*gib, 9*gib, agent, hog)); len(e) != 1 || e[0].Hard || e[0].Limit != disk.WriteMax {
		t.Fatalf("at the soft line: %+v", e)
	}
	if e := p.Look(reading(39*gib, 11*gib, agent, hog)); len(e) != 1 || len(victims(e)) != 1 || victims(e)[0] != 2 {
		t.Fatalf("at the hard line: %+v", e)
	}
	if e := p.Look(reading(39*gib, 11*gib, agent)); len(e) != 0 {
		t.Fatalf("once the writer is gone the agent may write a little: %+v", e)
	}

	foreign := disk.Policy{Lines: disk.Lines{WriteMax: 10 * gib}}
	if e := foreign.Look(reading(30*gib, 6*gib, hog)); len(e) != 1 || !e[0].Foreign || e[0].Victim != nil {
		t.Fatalf("somebody else filled the disk: %+v", e)
	}
	if e := foreign.Look(reading(29*gib, 7*gib, hog)); len(e) != 0 {
		t.Fatalf("said twice: %+v", e)
	}
}

func TestFreeMin(t *testing.T) {
	hog := disk.Process{PID: 2, Recent: 900 * limit.MiB}
	p := disk.Policy{Lines: disk.Lines{FreeMin: disk.Auto}} // 2 GiB of 100
	if e := p.Look(reading(3*gib, 47*gib, hog)); len(e) != 1 || e[0].Hard || e[0].Path != "/" {
		t.Fatalf("at the soft line: %+v", e)
	}
	if e := p.Look(reading(gib, 49*gib, hog)); len(victims(e)) != 1 {
		t.Fatalf("at the hard line: %+v", e)
	}
	// A disk that is nearly full already is no fault of a run that writes its transcript.
	full := disk.Reading{
		Spaces:  []disk.Space{{Path: "/", Total: 100 * gib, First: 100 * limit.MiB, Free: 40 * limit.MiB}},
		Written: limit.MiB, Writers: []disk.Process{{PID: 1, Recent: limit.MiB}},
	}
	fresh := disk.Policy{Lines: disk.Lines{FreeMin: disk.Auto}}
	if e := fresh.Look(full); len(victims(e)) != 0 {
		t.Fatalf("a run that has written 1 MiB: %+v", e)
	}
}

// Only the default gives way on a disk that is nearly full; what somebody asked for is held.
func TestFreeMinIsHeldAsAsked(t *testing.T) {
	hog := disk.Process{PID: 2, Recent: 900 * limit.MiB}
	look := func(lines disk.Lines) []disk.Event {
		p := disk.Policy{Lines: lines}
		return p.Look(disk.Reading{
			Spaces:  []disk.Space{{Path: "/", Total: 100 * gib, First: 3 * gib, Free: 2*gib - 1}},
			Written: gib, Writers: []disk.Process{hog},
		})
	}
	if e := look(disk.Lines{FreeMin: 2 * gib}); len(victims(e)) != 1 {
		t.Errorf("2 GiB were asked for, of 3 that were free: %+v", e)
	}
	if e := look(disk.Lines{FreeMin: disk.Auto}); len(victims(e)) != 0 { // half of 3
		t.Errorf("the default: %+v", e)
	}
}
