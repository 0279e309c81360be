package lab

import (
	"context"
	"fmt"
	"sync"

	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

const (
	// MaxCounts bounds the counts that are remembered.
	MaxCounts = 64
	// maxTo bounds one count: nobody polls for longer.
	maxTo = 1_000_000
	// maxJob bounds the name of a count, in bytes.
	maxJob = 64
)

type poll struct {
	To  int    `json:"to" jsonschema:"How far to count"`
	Job string `json:"job,omitempty" jsonschema:"Which count, where there are several"`
}

// progress is the answer of a call of count.
type progress struct {
	Count int  `json:"count"`
	To    int  `json:"to"`
	Done  bool `json:"done"`
}

// counts are the counts under way, by who counts and the name of the count.
type counts struct {
	mu    sync.Mutex
	under map[[2]string]*count
	asked int64
}

type count struct {
	at   int
	last int64 // when it was asked for, by counts.asked
}

func (c *counts) next(_ context.Context, call *builtin.Call, in poll) (*builtin.Result, error) {
	switch {
	case in.To < 1 || in.To > maxTo:
		return nil, fmt.Errorf("to is %d: send a number from 1 to %d", in.To, maxTo)
	case len(in.Job) > maxJob:
		return nil, fmt.Errorf("job has %d bytes, more than %d: send a shorter name", len(in.Job), maxJob)
	}
	at := c.step([2]string{call.Principal, in.Job}, in.To)
	return builtin.JSON(progress{Count: at, To: in.To, Done: at >= in.To})
}

// step goes one further. A count that is done is forgotten.
func (c *counts) step(key [2]string, to int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under == nil {
		c.under = map[[2]string]*count{}
	}
	one := c.under[key]
	if one == nil {
		c.room()
		one = &count{}
		c.under[key] = one
	}
	c.asked++
	one.at, one.last = one.at+1, c.asked
	if one.at >= to {
		delete(c.under, key)
	}
	return one.at
}

func (c *counts) room() {
	for len(c.under) >= MaxCounts {
		var oldest [2]string
		first := int64(-1)
		for key, one := range c.under {
			if first < 0 || one.last < first {
				oldest, first = key, one.last
			}
		}
		delete(c.under, oldest)
	}
}
