// Package notify informs a person who has no Prometheus of what they would want to hear of a run: it was killed for memory, a child of it
// was, it reached another limit, it was refused, it waits for longer than [LongWait], it got its turn, its plimsoll was killed.
//
//	way, err := notify.Open(words, notify.Options{Terminal: os.Stderr}) // "desktop", a URL, or a command
//	sender := notify.NewSender(way, notify.SenderOptions{Fail: warn})
//	defer sender.Close(time.Second)
//
//	own := notify.NewOwn(sender, header)                                // a journal.Observer of this process's own run
//	err = notify.Watch(ctx, notify.WatchOptions{StateDir: dir, Sender: sender, ID: notify.ID(words)})
//
// # Once
//
// Each cause is told once for a run. A run that tells of itself names the way in its header ([runs.Header].Notifies): who watches the
// store by the same way tells only of the death of such a run, which it cannot tell itself. Of several who watch by the same way the
// one tells that holds the lock of it, see [WatchOptions].Hold.
//
// # Ways
//
// The desktop is notify-send on Linux and osascript on macOS, and where that does not work a terminal's own notice (OSC 9, OSC 777)
// with its bell. A URL gets a POST of the [Notice] as JSON, at most three times, and no redirect to another host. A command is started
// without a shell, in the home directory and a process group of its own, gets the notice as JSON on standard input and in
// PLIMSOLL_NOTICE_* variables, and is killed with what it started when its time is over.
//
// A notice describes the event in the words of a run's entry. Names in it come from tools and projects: control characters are
// replaced, credentials masked, markup escaped.
//
// # Concurrency and bounds
//
// A [Sender] never makes its caller wait: [MaxQueue] notices wait, what finds no room is counted and told. Sending is one after the
// other, each within [Timeout]. The tests use a real server, real commands, and a notify-send and an osascript of their own.
package notify
