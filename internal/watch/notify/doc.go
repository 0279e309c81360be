// Package notify informs a person who has no Prometheus of what they would want to hear of a run: it was killed for memory, reached a limit, was
// refused, waits for longer than [LongWait], got its turn, or its plimsoll was killed.
//
//	way, err := notify.Open(words, notify.Options{Terminal: os.Stderr}) // "desktop", a URL, or a command
//	sender := notify.NewSender(way, notify.SenderOptions{Fail: warn})
//	own := notify.NewOwn(sender, header)                                // a journal.Observer of this process's own run
//	err = notify.Watch(ctx, notify.WatchOptions{StateDir: dir, Sender: sender, ID: notify.ID(words)})
//
// Each cause is told once for a run: one that tells of itself names the way in its header, and who watches the store by the same way tells only
// of its death. A URL gets the [Notice] as JSON, at most three times and without redirects to other hosts; a command gets it on standard
// input, without a shell, and is killed with what it started when its time is over. Names are made harmless before they are shown.
//
// A [Sender] never makes its caller wait: [MaxQueue] notices wait, what finds no room is counted, and each is sent within [Timeout].
package notify
