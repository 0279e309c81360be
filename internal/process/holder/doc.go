// Package holder reaches the run behind a claim of the ledger, from the claim's own process and from others of the same user: what it uses
// now, pausing and ending it, and removing what a dead supervisor has left.
package holder
