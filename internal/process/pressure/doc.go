// Package pressure decides what to do with a run when the host, or the control group
// around us, is about to run out of memory, and does it.
//
//	stop := pressure.Start(pressure.Options{
//		Mode: pressure.Freeze, Self: claim.ID(),
//		Lines: pressure.LinesFor(minFree, capacity),
//		Read:  readHeadroom, Run: run, Peers: ledger,
//		Note:  func(e pressure.Event) { … },
//	})
//	defer stop()
//
// Every supervisor watches by itself and no other process coordinates them. They agree
// because all read the same ledger: the run to act on is the youngest that uses more than
// it has reserved, and its own supervisor is the one that acts. The others look on.
//
// # What is done
//
// There are two [Lines]. Below the soft one the watch looks four times a second. Below the
// hard one (or below the soft one while processes are stalled) two readings in a row, the
// chosen run gives way:
//
//	Freeze  its largest descendant is stopped; if that does not help within Pace.Pause the
//	        whole run is frozen. Both go on when memory is free again, or after Pace.Hold
//	Kill    its largest descendant is killed, one at a time, Pace.Pause apart
//	Warn    one event; another run that is above its reservation and may be stopped is chosen
//
// The command itself (the agent) is never stopped alone and never killed. When no run is
// above its reservation nobody is to blame, and all only warn.
//
// # Nothing starves
//
// What is stopped goes on after Pace.Hold even when memory is still short, and is then left
// alone for Pace.Rest. A supervisor that is itself stopped cannot let its run go on: any
// peer does, Pace.PeerGrace later ([Peers].Thaw). One that does not act when it is its turn
// is passed over after Pace.Turn. What is held is published ([Peers].Publish) before it is
// held; when that fails it is not held.
//
// # What memory is left
//
// Decisions go by the memory that can still be given out, bounded by the enclosing
// control groups. Pressure stall information (PSI) only moves the decision forward: memory
// stalls were measured to read 0 while everything waited for the disk, so neither they nor
// their absence is trusted alone.
//
// # Concurrency, cost, tests
//
// [Start] runs one goroutine until stop is called; with mode [Off] it runs none. All
// callbacks come from that goroutine. A look costs one reading of headroom, every two
// seconds while memory is plenty; the ledger is asked once a second under pressure and
// every Pace.Peers else, more rarely where many runs do the same. The decisions are made by a state machine without clock, locks or
// side effects, tested by tables; the loop around it is tested on a fake clock
// (testing/synctest), and package app tests it on real processes.
package pressure
