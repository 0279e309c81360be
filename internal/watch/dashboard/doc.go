// Package dashboard shows runs in a browser: those that live and those that have ended, with their timelines, the ledger, and alerts.
//
//	d, err := dashboard.New(dashboard.Options{StateDir: dir, Token: token, Pages: pages})
//	mux.Handle("/", d)       // behind checks of Host and Origin, which are the listener's
//	fmt.Println(d.URL(base)) // with the token, for its user
//
// There is one HTML file, a few scripts and no build step; everything else is JSON. It only reads: what is to be done is a command to copy.
// Elements are changed in place (static/place.js), since a pointer, a focus or a selection is on them. A page of tables is one Go file: see
// [TablesPage].
//
// Whoever has the token may look, on loopback too: every user of the machine can connect there. What agents have named is data: scripts set
// text and never markup, and the Content-Security-Policy allows only the package's own files. One goroutine reads the store twice a second
// while somebody looks, [MaxViewers] at most; who reads slowly gets fewer steps, and none holds another up.
package dashboard
