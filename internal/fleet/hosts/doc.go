// Package hosts shows the hosts of a fleet to each other: their memory, their live runs, their queues, and what they spent.
//
//	end := hosts.Announce(hosts.Options{Fleet: f, Key: key, …}) // from each run, and from a daemon
//	v := hosts.Open(f, key, true)                              // for who looks
//	now := v.Now()                                             // never waits: the hosts as they said last, or since when the fleet is away
//
// Each run writes a small card below the runtime directory every five seconds. One process of the host, which holds a lock that its end gives
// to the next one, sums the cards up and writes two values: a small one about the host, which metrics watch, and its runs, which
// screens watch. Both age out within 20 s. A host whose last process ends cleanly says so; one that does not is gone.
//
// Whatever another host wrote is bounded and cleaned of control characters when it is read. Times are told by the writer's clock together with
// its present time, so that a clock that is off by an hour shifts nothing.
package hosts
