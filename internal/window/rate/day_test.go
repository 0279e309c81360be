package rate

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A counter is a provider that keeps its word: a bucket of requests and one of tokens, which fill all the time.
type counter struct {
	mu              sync.Mutex
	limits, left    [2]float64 // requests and tokens, a minute
	at              time.Time
	silent, byClock bool      // it names no numbers; it counts by the clock
	mute            bool      // and does not say when to come again
	down            time.Time // until then it refuses everything
	asked           []time.Time
	refused, passed int
}

func newCounter(requests, tokens float64) *counter {
	return &counter{limits: [2]float64{requests, tokens}, left: [2]float64{requests, tokens}, at: time.Now()}
}

func (c *counter) fill(now time.Time) {
	for i := range c.left {
		if c.byClock {
			if now.Truncate(time.Minute).After(c.at.Truncate(time.Minute)) {
				c.left[i] = c.limits[i]
			}
		} else {
			c.left[i] = min(c.limits[i], c.left[i]+c.limits[i]*now.Sub(c.at).Minutes())
		}
	}
	c.at = now
}

// full returns the time until all of a bucket is there again.
func (c *counter) full(i int, now time.Time) time.Duration {
	if c.byClock {
		return now.Truncate(time.Minute).Add(time.Minute).Sub(now)
	}
	return time.Duration((c.limits[i] - c.left[i]) / c.limits[i] * float64(time.Minute))
}

// An agent asks one thing after the other, each until it is answered or its patience ends.
type agent struct {
	share    *Share
	name     string
	people   bool
	patience time.Duration
	done     []time.Time
	failed   int
	longest  time.Duration
}

// jain returns Jain's index of fairness: 1 where all have the same.
func jain(x []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum, squares = sum+v, squares+v*v
	}
	return sum * sum / (float64(len(x)) * squares)
}

// crowd lets agents of one process each ask, and returns them with the time it took.
func crowd(t *testing.T, c *counter, patience time.Duration, agents, requests int, tokens func(agent, i int) int) ([]*agent, time.Duration) {
	dir, began := t.TempDir(), time.Now()
	var all []*agent
	var wg sync.WaitGroup
	for n := range agents {
		a := &agent{share: Open(dir, func(err error) { t.Error(err) }), name: fmt.Sprint(n), patience: patience}
		all = append(all, a)
		wg.Go(func() {
			work(t, a, c, requests, func(i int) int { return tokens(n, i) })
			a.share.Close()
		})
	}
	wg.Wait()
	return all, time.Since(began)
}

// work lets an agent ask.
func work(t *testing.T, a *agent, c *counter, requests int, tokens func(i int) int) {
	for i := range requests {
		since, n := time.Now(), tokens(i)
		for {
			turn, err := a.share.Wait(t.Context(), Ask{Key: "k", Run: a.name, People: a.people, Since: since, Patience: a.patience, Input: n})
			if err != nil {
				t.Error(err)
				return
			}
			a.longest = max(a.longest, time.Since(since))
			status, h := ask(c, float64(n))
			if status == 200 {
				turn.Answered(h)
				a.done = append(a.done, time.Now())
				break
			}
			r, _ := Refused(status, h, nil)
			turn.Refused(status, h, r)
			if turn.Forced || time.Since(since)+r.After >= a.patience {
				a.failed++
				break
			}
		}
	}
}

// ask answers a request of a number of tokens.
func ask(c *counter, tokens float64) (int, http.Header) {
	time.Sleep(5 * time.Millisecond)
	c.mu.Lock()
	now := time.Now()
	c.fill(now)
	h, status := http.Header{}, 200
	c.asked = append(c.asked, now)
	if now.Before(c.down) || c.left[0] < 1 || c.left[1] < tokens {
		if status = 429; now.Before(c.down) {
			status = StatusOverloaded
		}
		c.refused++
		need := c.full(0, now)
		if !c.byClock {
			need = time.Duration(max((1-c.left[0])/c.limits[0], (tokens-c.left[1])/c.limits[1]) * float64(time.Minute))
		}
		if !c.mute && status == 429 {
			h.Set("Retry-After", strconv.Itoa(int(need.Seconds())+1))
		}
	} else {
		c.passed++
		c.left[0], c.left[1] = c.left[0]-1, c.left[1]-tokens
	}
	if !c.silent {
		for i, unit := range []string{"Requests", "Tokens"} {
			h.Set("X-Ratelimit-Limit-"+unit, fmt.Sprint(c.limits[i]))
			h.Set("X-Ratelimit-Remaining-"+unit, fmt.Sprint(int(c.left[i])))
			h.Set("X-Ratelimit-Reset-"+unit, c.full(i, now).Round(time.Millisecond).String())
		}
	}
	c.mu.Unlock()
	time.Sleep(40 * time.Millisecond)
	return status, h
}

// Forty agents, each in a process of its own, share what a provider allows: nobody fails, next to nothing is left unused, and all get the same.
func TestManyAgentsShareARate(t *testing.T) {
	for name, c := range map[string]struct {
		requests, tokens float64
		byClock          bool
		silent, mute     bool
		size             func(agent, i int) int
		most             int     // refusals
		least            float64 // of what the provider allows
	}{
		"requests are short": {requests: 1500, tokens: 1e9, size: func(int, int) int { return 100 }, most: 40},
		"tokens are short":   {requests: 1e6, tokens: 1.5e6, size: func(_, i int) int { return 500 + i*37%1000 }, most: 40},
		"only refusals tell": {requests: 1500, tokens: 1e9, silent: true, size: func(int, int) int { return 100 }, most: 200, least: 0.9},
		"not even those":     {requests: 1500, tokens: 1e9, silent: true, mute: true, size: func(int, int) int { return 100 }, most: 200, least: 0.9},
		"by the clock":       {requests: 1500, tokens: 1e9, byClock: true, size: func(int, int) int { return 100 }, most: 90},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newCounter(c.requests, c.tokens)
				p.byClock, p.silent, p.mute = c.byClock, c.silent, c.mute
				patience := 15 * time.Second
				if c.byClock {
					patience = 70 * time.Second
				}
				all, took := crowd(t, p, patience, 40, 50, c.size)
				failed, total := 0, 0.0
				var half []float64
				for n, a := range all {
					failed += a.failed
					got := 0.0
					for _, at := range a.done {
						if at.Sub(all[0].done[0]) < took*3/4 {
							got++
						}
					}
					half = append(half, got)
					for i := range 50 {
						total += float64(c.size(n, i))
					}
				}
				ideal := max((2000-c.requests)/c.requests, (total-c.tokens)/c.tokens) * 60
				t.Logf("%d refused, %d failed, %v of at least %.1f s, fairness %.3f", p.refused, failed, took.Round(time.Millisecond), ideal, jain(half))
				if failed > 0 || p.refused > c.most || jain(half) < 0.95 || !c.byClock && ideal/took.Seconds() < cmp.Or(c.least, 0.95) {
					t.Error("that is not enough")
				}
			})
		})
	}
}
