// Package fleet keeps what hosts share in buckets of NATS JetStream: the history of peaks, budgets and rates, frozen decisions of windows, and
// which hosts there are. It places nothing and leads nothing: a host that cannot reach the server goes on by itself.
//
//	f := fleet.New(fleet.Options{URL: "nats://10.0.0.5:4222", Dir: state})
//	err := f.Bucket(fleet.Budgets).Change(ctx, key, func(old fleet.Entry) ([]byte, error) { … })
//	if errors.Is(err, fleet.ErrAway) { … go on with what this host has … }
//
// Nothing is opened before the first use, and a nil *Fleet is away for good. A read may be answered by a server that has no quorum: what must
// hold for all hosts is decided by a write that names the revision it replaces.
package fleet
