package spend

import (
	"math"
	"sync"
)

const (
	// fewAnswers is the number of answers from which on their sizes tell what the next will have. Before, expected stands in: clients ask for
	// 64,000 tokens and use 800 (measured with five clients).
	fewAnswers = 20
	expected   = 2000
)

// Answers learns how many tokens the answers of a tool have. The zero value has seen none; it is safe for concurrent use.
type Answers struct {
	mu     sync.Mutex
	counts [4 * 32]uint32 // by quarters of the binary logarithm
	n      uint32
	// read and input count the tokens of input, those that a cache had among them.
	read, input float64
}

// Seen adds an answer, with the tokens of its request that a cache had.
func (a *Answers) Seen(output, input, read int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts[bucket(output)]++
	a.n++
	const keep = 0.95 // of what was before, so that the last 20 count most
	a.input, a.read = keep*a.input+float64(max(input, 0)), keep*a.read+float64(min(max(read, 0), input))
}

// Known adds n answers of former runs of which 99 of a hundred had at most p99 tokens.
func (a *Answers) Known(n uint32, p99 int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts[bucket(p99)] += n
	a.n += n
}

// P99 returns the size that 99 of a hundred answers do not pass, to within a fifth, and how many were seen.
func (a *Answers) P99() (tokens int64, n uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.p99(), a.n
}

func (a *Answers) p99() int64 {
	left := uint64(a.n) / 100
	for i := len(a.counts) - 1; i >= 0; i-- {
		if c := uint64(a.counts[i]); c > left {
			return int64(math.Exp2(float64(i+1) / 4))
		} else {
			left -= c
		}
	}
	return 0
}

// expect returns what a request will probably use.
func (a *Answers) expect(r Request) Amount {
	a.mu.Lock()
	defer a.mu.Unlock()
	output, cached := int64(expected), 0.0
	if a.n >= fewAnswers {
		output = a.p99()
	}
	if a.input > 0 {
		cached = a.read / a.input
	}
	if r.MaxOutput > 0 {
		output = min(output, int64(r.MaxOutput))
	}
	input := max(r.Input, 0)
	want := Amount{Tokens: int64(input) + output}
	if !r.Priced {
		return want
	}
	cost := r.Price.Of(input, int(cached*float64(input)), 0, 0, int(output))
	if r.Plan {
		want.Plan = cost
	} else {
		want.Cost = cost
	}
	return want
}

func bucket(tokens int64) int {
	if tokens < 1 {
		return 0
	}
	return min(int(4*math.Log2(float64(tokens))), 4*32-1)
}
