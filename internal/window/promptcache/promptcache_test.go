package promptcache_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/promptcache"
)

const minute = time.Minute

func TestLifetimes(t *testing.T) {
	type answer struct {
		idle         time.Duration
		before, read int
	}
	for name, c := range map[string]struct {
		answers            []answer
		asked              time.Duration
		warm, unsure, cold time.Duration // pauses that are held for each
	}{
		"nothing is known":                   {nil, 0, 3 * minute, 5 * minute, 7 * minute},
		"the client asks for an hour":        {nil, promptcache.Hour, 40 * minute, 60 * minute, 80 * minute},
		"it lives longer":                    {[]answer{{20 * minute, 1000, 900}}, 0, 15 * minute, 20 * minute, 25 * minute},
		"it lives shorter":                   {[]answer{{3 * minute, 1000, 0}}, 0, 2 * minute, 3 * minute, 4 * minute},
		"shorter, then longer again":         {[]answer{{3 * minute, 1000, 0}, {10 * minute, 1000, 1000}}, 0, 7 * minute, 10 * minute, 13 * minute},
		"longer, then shorter":               {[]answer{{10 * minute, 1000, 1000}, {4 * minute, 1000, 0}}, 0, 3 * minute, 4 * minute, 5 * minute},
		"half an answer says nothing":        {[]answer{{20 * minute, 1000, 300}}, 0, 3 * minute, 5 * minute, 7 * minute},
		"quick answers say nothing":          {[]answer{{10 * time.Second, 1000, 0}}, 0, 3 * minute, 5 * minute, 7 * minute},
		"a first request says nothing":       {[]answer{{20 * minute, 0, 0}}, 0, 3 * minute, 5 * minute, 7 * minute},
		"an hour holds against one eviction": {[]answer{{10 * minute, 1000, 0}}, promptcache.Hour, 40 * minute, 60 * minute, 80 * minute},
	} {
		var l promptcache.Lifetimes
		for _, a := range c.answers {
			l.Answer("m", a.idle, a.before, a.read)
		}
		for idle, want := range map[time.Duration][2]bool{c.warm: {true, false}, c.unsure: {false, false}, c.cold: {false, true}} {
			if got := [2]bool{l.Warm("m", idle, c.asked), l.Cold("m", idle, c.asked)}; got != want {
				t.Errorf("%s: after %v warm and cold are %v, want %v", name, idle, got, want)
			}
		}
		if l.Cold("other", 4*minute, 0) {
			t.Errorf("%s: another model goes by it", name)
		}
	}
}

// What is used stays known, however many others come.
func TestBounds(t *testing.T) {
	var l promptcache.Lifetimes
	for i := range 5000 {
		l.Answer("kept", 30*minute, 10, 10)
		l.Answer(strconv.Itoa(i), 30*minute, 10, 10)
	}
	if !l.Warm("kept", 20*minute, 0) || l.Warm("0", 20*minute, 0) {
		t.Error("the wrong ones were forgotten")
	}
}
