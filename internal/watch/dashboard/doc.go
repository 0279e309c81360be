// Package dashboard shows runs in a browser: those that live and those that have ended, with their timelines, what was cut from
// their conversations, the sizes of tools' results, the ledger, and alerts.
//
//	d, err := dashboard.New(dashboard.Options{StateDir: dir, Token: token, Pages: pages})
//	mux.Handle("/", d)      // behind checks of Host and Origin, which are the listener's
//	fmt.Println(d.URL(base)) // with the token, for its user
//
// There is one HTML file, a few scripts and no build step. Everything else is JSON: api/state and what follows from it over
// api/events (server-sent events: the rows that changed), api/memory, api/run/ID, api/cut/ID and one address for each page. It only reads:
// what is to be done is a command to copy. Elements are changed in place (static/place.js) and never made anew for news, since a pointer, a
// focus or a selection is on them.
//
// # Who may look
//
// Whoever has the token, on loopback too: every user of the machine can connect there, and a run's command line is nobody
// else's business. The token comes once, as /?token=…, is compared in constant time, and is exchanged for a cookie that scripts
// cannot read and other sites cannot send (HttpOnly, SameSite=Strict). Cookies know no ports, and what listens on another port of
// the machine is the same site. So the cookie is for one path alone, which is random, as the cookie is, for each start: no browser shows it to
// the server of another user, and no page of that server can name an address of ours. What agents have named is data everywhere: scripts set text
// and never markup, without characters that would turn its direction, and the Content-Security-Policy allows no script, style or image but the package's own files.
//
// # A page of one's own
//
// A page that is a few tables is one Go file, with no script and nothing to change elsewhere. Those of the program are in internal/app/watch,
// where the planes are joined; page_mcp.go there is a whole one. For things that a plane keeps:
//
//	func init() { addPage(50, thingsPage) } // its place in the menu
//
//	func thingsPage(s source) (dashboard.Page, bool) { // false leaves it out
//		return dashboard.TablesPage("things", "Things", func(ctx context.Context) ([]*dashboard.Table, error) {
//			t := &dashboard.Table{Title: "Things", Empty: "Nothing is kept yet: plimsoll things add", Columns: []dashboard.Column{
//				{Name: "Recorded", Kind: dashboard.Time}, {Name: "Text", Kind: dashboard.Wide}, {Name: "Size", Kind: dashboard.Bytes}, {Name: "Run", Kind: dashboard.RunID},
//			}}
//			list, err := things.List(s.core.Dirs) // reads, and waits for nobody
//			for _, one := range list {
//				t.Add(one.Recorded, one.Text, one.Bytes, one.Run)
//			}
//			return []*dashboard.Table{t}, err
//		}), true
//	}
//
// The content of a cell is only ever text, whoever wrote it; a [Kind] selects its form, and [Cell] puts a line of words below it. A
// table has [MaxTableRows] rows, and counts the others. The page is asked for its tables when somebody opens it, and every three seconds
// while it is looked at. What tables cannot
// show takes a [Page] with a script of its own, which gets the data and the helpers of static/tools.js (internal/app/watch/page_ledger.go), and may
// ask for more, as a search does (internal/app/watch/page_memory.go).
//
// # What it takes
//
// One goroutine reads the store twice a second while somebody looks, and none while nobody does, however many look: [MaxViewers]
// at most. Who reads slowly gets fewer steps, and none holds another up.
package dashboard
