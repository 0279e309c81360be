// Package rates divides what providers let through among the hosts of a fleet.
//
//	share.Join(rates.NewTeam(f.Bucket(fleet.Rates)))
//
// What is left of an allowance every host reads in the provider's answers, with the use of all others in it. What no answer tells is how many
// wait elsewhere: that is kept here, a key for each login and model, by digest, while there is a queue. A host then goes on with its part of
// what is left and of what comes in, until it is told of another one.
package rates

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/plimsoll/plimsoll/internal/fleet"
)

const (
	// silent is the time after which a host that has told nothing has no queue any more, by the clock of the server.
	silent = 10 * time.Second
	// maxHosts bounds those of a key. More than that share without it, as if they were alone.
	maxHosts = 500
)

// Store keeps the values, as [fleet.Bucket] does.
type Store interface {
	Change(ctx context.Context, key string, change func(old fleet.Entry) ([]byte, error)) error
}

// Team is the division of allowances among the hosts of a fleet.
type Team struct{ store Store }

// NewTeam returns the division that a store keeps.
func NewTeam(s Store) *Team { return &Team{s} }

// A value keeps who has a queue for one allowance.
type value struct {
	Hosts map[string]queue `json:"hosts"`
	// By is the host that wrote it.
	By string `json:"by"`
}

// A queue is that of one host.
type queue struct {
	// Runs is the number of runs in it, and At when the host told so by the server's clock, in milliseconds: of the host that wrote last the
	// server has it itself.
	Runs int   `json:"runs"`
	At   int64 `json:"at"`
}

// Part publishes how many runs of a host wait in the queue of an allowance, and returns the host's part of all that wait, 0 to 1. Hosts that have not
// called for a while do not count, and beyond maxHosts a host is not counted by the others. runs must not be 0.
func (t *Team) Part(ctx context.Context, allowance, host string, runs int) (part float64, err error) {
	err = t.store.Change(ctx, fleet.Key(allowance), func(e fleet.Entry) ([]byte, error) {
		var v value
		if json.Unmarshal(e.Value, &v) != nil || v.Hosts == nil { // nothing is lost by that which is not told again within a second
			v.Hosts = map[string]queue{}
		}
		if q, ok := v.Hosts[v.By]; ok {
			q.At = e.Time.UnixMilli()
			v.Hosts[v.By] = q
		}
		// The server's clock alone counts: those of hosts may be wrong.
		maps.DeleteFunc(v.Hosts, func(id string, q queue) bool {
			return id == host || q.Runs <= 0 || q.At < e.Time.Add(-silent).UnixMilli()
		})
		others := 0.0
		for _, q := range v.Hosts {
			others += float64(q.Runs)
		}
		if len(v.Hosts) < maxHosts {
			v.Hosts[host], v.By = queue{runs, e.Time.UnixMilli()}, host
		}
		part = float64(runs) / (float64(runs) + others)
		return json.Marshal(v)
	})
	return part, err
}
