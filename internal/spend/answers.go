package spend

import (
	"math"
	"slices"
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
	counts sizes // of former runs and of this one
	own    sizes // of this one
	// read and input count the tokens of input, those that a cache had among them.
	read, input float64
}

// AddAnswer counts an answer of output tokens, whose request had input tokens, read of them from a cache. Later answers weigh more than earlier ones.
func (a *Answers) AddAnswer(output, input, read int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.add(output, 1)
	a.own.add(output, 1)
	const keep = 0.95 // of what was before, so that the last 20 count most
	a.input, a.read = keep*a.input+float64(max(input, 0)), keep*a.read+float64(min(max(read, 0), input))
}

// AddFormer adds n answers of former runs of which 99 of a hundred had at most p99 tokens.
func (a *Answers) AddFormer(n uint32, p99 int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.add(p99, n)
}

// OwnP99 returns the size that 99 of a hundred answers of this run do not pass, and their number.
func (a *Answers) OwnP99() (tokens int64, n uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.own.p99(), a.own.n
}

// P99 returns the size that 99 of a hundred answers do not pass, to within a fifth, and how many were seen.
func (a *Answers) P99() (tokens int64, n uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts.p99(), a.counts.n
}

// sizes counts answers by quarters of the binary logarithm of their size.
type sizes struct {
	counts [4 * 32]uint32
	n      uint32
}

// add counts n answers of this size.
func (s *sizes) add(tokens int64, n uint32) {
	s.counts[sizeBucket(tokens)] += n
	s.n += n
}

// p99 returns an upper bound of the 99th percentile of the counted sizes, rounded up to a step; 0 if nothing was counted.
func (s *sizes) p99() int64 {
	left := s.n / 100
	for i, c := range slices.Backward(s.counts[:]) {
		if c > left {
			return int64(math.Exp2(float64(i+1) / 4))
		}
		left -= c
	}
	return 0
}

// expectedUse returns the tokens and the cost that a request will probably use: the 99th percentile of the output so far, or a fixed size while too
// few answers were seen, and the usual part of the input from a cache. The cost is 0 if the price is not known.
func (a *Answers) expectedUse(r Request) Amount {
	a.mu.Lock()
	defer a.mu.Unlock()
	output, cached := int64(expected), 0.0
	if a.counts.n >= fewAnswers {
		output = a.counts.p99()
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

// sizeBucket returns the index at which an answer of so many tokens is counted.
func sizeBucket(tokens int64) int {
	if tokens < 1 {
		return 0
	}
	return min(int(4*math.Log2(float64(tokens))), 4*32-1)
}
