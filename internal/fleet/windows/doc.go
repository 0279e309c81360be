// Package windows keeps what replicas of `plimsoll serve` share of their conversations in a fleet, sealed.
//
//	logs, err := windows.Open(ctx, f, windows.Options{Secret: token, Warn: warn})
//	name := logs.Name("log", conversation)
//	value, revision, err := logs.Get(ctx, name)
//	next, err := logs.Put(ctx, name, value, revision)
//
// Names are keyed digests and values are sealed with keys that are derived from a secret of the replicas, so that who runs the store can read
// neither, nor put one value in the place of another. He can remove values, and put an old one back. With the store away every call fails at
// once but the first one, and the store is asked in the background until it answers.
package windows
