// Package admission decides whether a run may start now, and keeps the ledger of who runs
// and who waits on this host.
//
//	ledger, err := admission.Open(admission.Options{Dir: runtimeDir, Current: currentUse, Reap: reap})
//	claim, err := ledger.Acquire(ctx, admission.Request{
//		Tool: "codex", Project: dir, Reservation: 4 * limit.GiB,
//		SlotsPerTool: 5, Wait: admission.Forever, Headroom: read,
//	})
//	defer claim.Release()
//	claim.Record(remains) // before a cgroup exists, so that it is found should we die
//
// # The sum
//
// Under one lock, a run is admitted when
//
//	reservation ≤ available − min_free − Σ max(0, reservation_i − current_i)
//
// over all runs that hold a claim. What a run already uses is missing from "available"
// anyway, so each holds back only what it has reserved and does not use yet. A run inside
// another run (its Parent holds a claim) draws on that claim: it takes no slot and adds
// nothing. A [*Refused] carries every term and prints them.
//
// # The queue
//
// First come, first served. A later run may start before an earlier one when it takes
// nothing that the earlier one waits for (it fits beside its reservation, and the slots are
// not the same), or at most [MaxBypass] times when it does. After that what becomes
// free is kept for the earlier run, so no run starves; only when nobody holds
// anything and it still does not fit do those behind it go on, one at a time. A waiter
// that is stopped is passed and keeps its place.
//
// There are two waits. The lock is waited for asleep in the kernel, in order, and without a bound as long as it goes from hand
// to hand; a stopped process that keeps it for [DefaultLockTimeout] is named and the run fails. The queue is waited in on a pipe of the waiter's
// own: a release works out who may go now and wakes these alone. Memory that other programs free sends no wake-up, so the first waiter reads
// the memory once a second and wakes those that fit; the next three look whether it is stopped, every two to three seconds, and all
// others twice a minute at most. Who becomes the first or second is told so through its pipe, and does not look at the ledger for that.
//
// # The sum when there are many
//
// Up to 16 holders are asked what they use at every decision. Beside more, a decision takes what a process has read within the last second,
// with the memory available then or now, whichever is less, or counts every reservation in full. Both are too much rather
// than too little, so who is admitted by them would be admitted by the exact sum. Before a run is refused, and once a second for the first
// waiter, all are asked. In the same way locks of dead owners are all probed while there are few claims, and before a refusal; else the
// numbers of the processes are asked for, of more than 512 holders only before somebody has to wait, and 16 locks in turn.
//
// # Files
//
// In Dir/ledger/BOOT (BOOT names the host's boot, so that hosts that share a directory,
// or claims from before a reboot, never mix):
//
//	lock              the one lock (flock) with the name of its holder; it is held for about a millisecond at a time
//	turn              the lock that our own decisions take before they wait for other users
//	ledger.table      everybody who holds or waits: a header and a record of 256 bytes each, replaced in place, with checksums
//	waiters/ID        the pipe that wakes a waiter
//	claims/ID.lock    locked by the owner while it lives: nothing else shows that it does
//	claims/ID.json    the claim again, and what to clean up after its owner
//	claims/ID.use     what the run uses now, where no kernel account tells
//
// A process may be killed between any two steps: its locks are then free, and the next
// Acquire or [Ledger.Sweep] has what it left cleaned up and removes its claim. A stopped
// process keeps its locks, and counts. A damaged table is set aside under another
// name and rebuilt from the claim files, with a [Warning]. Nothing is flushed to disk: the
// page cache survives the death of a process, and no claim survives the host.
//
// Files have mode 0600 and directories 0700: nobody else sees them.
//
// # Other users
//
// Each user has a ledger, slots and a queue alone. With [Options].Shared the memory is reckoned together: a
// claim that stands for itself also appears in that directory, which an admin made (root's, mode 1777), as
//
//	BOOT.UID.ID.claim   0644, locked by its owner while it lives: tool, reservation, use, since
//	BOOT.UID.ID.new     0600, the same before it is filled and locked
//	lock                0644, held during a decision and for what that publishes
//
// The sum then holds back what live claims there have reserved and do not use yet: those of other users,
// and those of our own user that are in another ledger (another runtime directory, a container that
// has the directory too). Slots and the queue stay each ledger's own. Nothing
// in that directory is believed: links are not followed, pipes not waited for, files of another
// owner or size or content than their name promises are ignored with a [Warning], the claims of
// one user count for at most what the machine has, and the lock is waited for during
// [SharedLockTimeout] at most. What a dead owner left counts for nothing, and the next command of its
// user or of root removes it. A user who means harm can still claim all there is, as he could
// use it; --force goes ahead.
//
// # Concurrency, cost, tests
//
// Everything is safe for concurrent use by goroutines and by processes. Acquire and
// Release on an idle ledger take well under a millisecond together, and a few milliseconds beside 5,000 claims
// (go run ./bench admission); each claim of other users costs a few file operations. A ledger holds at most [MaxClaims] claims and
// [MaxWaiters] waiters. Tests start real processes and kill or stop them at every step.
package admission
