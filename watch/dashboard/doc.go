// Package dashboard shows runs in a browser: those that live and those that have ended, with their timelines, what was cut from
// their conversations, the sizes of tools' results, the ledger, and alerts.
//
//	d, err := dashboard.New(dashboard.Options{StateDir: dir, Token: token, Pages: pages})
//	mux.Handle("/", d)      // behind checks of Host and Origin, which are the listener's
//	fmt.Println(d.URL(base)) // with the token, for its user
//
// There is one HTML file, a few scripts and no build step. Everything else is JSON: /api/state and what follows from it over
// /api/events (server-sent events: the rows that changed), /api/run/ID, /api/cut/ID and one address for each page. It only reads.
//
// # Who may look
//
// Whoever has the token, on loopback too: every user of the machine can connect there, and a run's command line is nobody
// else's business. The token comes once, as /?token=…, is compared in constant time, and is exchanged for a cookie that scripts
// cannot read and other sites cannot send (HttpOnly, SameSite=Strict). What agents have named is data everywhere: scripts set text
// and never markup, and the Content-Security-Policy allows no script, style or image but the package's own files.
//
// # A page of one's own
//
// A [Page] is a name, a title, a function that gives JSON, and a script that draws it: one Go file and one script.
//
// # What it takes
//
// One goroutine reads the store twice a second while somebody looks, and none while nobody does, however many look: [MaxViewers]
// at most. Who reads slowly gets fewer steps, and none holds another up.
package dashboard
