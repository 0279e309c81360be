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

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

//go:embed static
var static embed.FS

// Options of a [Server].
type Options struct {
	// StateDir holds the store of runs.
	StateDir string
	// Version is shown at the foot of each page.
	Version string
	// Token is the secret that a viewer must know; "" makes one.
	Token string
	// Secure is true when the listener speaks TLS: the cookie is then sent over nothing else.
	Secure bool
	// Host reads the memory of the host; nil leaves it out.
	Host func() (Host, bool)
	// Cost returns the cost of a run by prices that its user has written; ok is false when there are none. It may be nil.
	Cost func(e *runs.Entry) (cost float64, ok bool)
	// Spent returns what these runs have spent today, by tool, and what of the budgets is. It is asked every ten seconds while somebody looks; nil leaves
	// it out.
	Spent func(context.Context, []runs.Entry) Spending
	// Alerts returns those that belong to no run of this host. It is asked at every look; nil has none.
	Alerts func(now time.Time) []Alert
	// Help returns the command that helps with a run that went wrong, "" for none, and the steps that could be next. It may be nil.
	Help func(r *runs.Run) (command string, next []string)
	// Cut returns a text that was cut from a conversation. It may be nil.
	Cut func(id string) (any, error)
	// Pages are shown after the built-in ones, in this order.
	Pages []Page
}

// Host is the state of the host in the line at the top. Sizes are in bytes.
type Host struct {
	TotalBytes     int64 `json:"total_bytes"`
	AvailableBytes int64 `json:"available_bytes"`
	ReservedBytes  int64 `json:"reserved_bytes"`
	// Stall is the percentage of the last ten seconds in which some process waited for memory; negative when unknown.
	Stall float64 `json:"stall_percent"`
	// Waiting counts the runs that wait in the queue.
	Waiting int `json:"waiting"`
}

// Page is a page beside the built-in ones. [TablesPage] makes one of tables.
type Page struct {
	// Name is the page's name in the address: lower-case letters, different from those of other pages. Title is shown.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Data returns what the page shows, as JSON, each time it is looked at, within ten seconds.
	Data func(ctx context.Context) (any, error) `json:"-"`
	// Ask returns the answer to a request of the page's script, /api/page/NAME?…, as JSON, within ten seconds. It only reads. With nil such
	// requests are refused.
	Ask func(ctx context.Context, q url.Values) (any, error) `json:"-"`
	// Script is a module of JavaScript whose default export draws the data: (element, data, tools) => void. When the data have changed it
	// is called again, or, if it returned { update(data) }, that is called. nil draws the tables of [TablesPage].
	Script []byte `json:"-"`
}

// Server is the dashboard, an [http.Handler]. It does not check Host and Origin: who mounts it must.
type Server struct {
	o      Options
	token  [sha256.Size]byte
	base   string // the path of everything but the entrance
	cookie string // the value that stands for the token
	hub    *hub
	pages  []Page
}

// New returns a dashboard. It reads nothing before somebody looks. The error is about a page.
func New(o Options) (*Server, error) {
	if o.Token == "" {
		var b [32]byte
		if _, err := rand.Read(b[:]); err != nil {
			return nil, err
		}
		o.Token = hex.EncodeToString(b[:])
	}
	names := map[string]bool{"": true, "run": true, "alerts": true} // those of app.js
	for _, p := range o.Pages {
		if names[p.Name] || strings.Trim(p.Name, "abcdefghijklmnopqrstuvwxyz") != "" || p.Title == "" || p.Data == nil {
			return nil, fmt.Errorf("a page of the dashboard is named %q, with the title %q: it needs a name of its own in lower-case letters, a title and data", p.Name, p.Title)
		}
		names[p.Name] = true
	}
	s := &Server{o: o, token: sha256.Sum256([]byte(o.Token)), base: folder + rand.Text() + "/", cookie: rand.Text(), pages: o.Pages}
	s.hub = &hub{dir: o.StateDir, host: o.Host, more: o.Alerts}
	s.hub.past.help = o.Help
	s.hub.spending = spending{read: o.Spent, cost: o.Cost}
	return s, nil
}

// Close ends the streams of all viewers.
func (s *Server) Close() error { return s.hub.close() }

// URL returns the address for a viewer, with the token. base is the listener's URL.
func (s *Server) URL(base string) string {
	return strings.TrimSuffix(base, "/") + "/?token=" + url.QueryEscape(s.o.Token)
}

// folder begins the path of every dashboard. The rest is new with each start, and secret.
const folder = "/dashboard-"

// Takes reports whether a path belongs to this dashboard, or to one of an earlier start.
func (s *Server) Takes(p string) bool { return p == "/" || strings.HasPrefix(p, folder) }

const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP answers a request. Without the cookie it answers only the one that exchanges the token for it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "the dashboard only reads: GET", http.StatusMethodNotAllowed)
		return
	}
	if given, ok := r.URL.Query()["token"]; ok && r.URL.Path == "/" {
		s.logIn(w, r, given[0])
		return
	}
	p, here := strings.CutPrefix(r.URL.Path, s.base)
	if !here || !s.hasCookie(r) {
		http.Error(w, "this address needs its token: plimsoll watch --url prints the whole address", http.StatusUnauthorized)
		return
	}
	switch {
	case p == "":
		s.serveFile(w, r, "index.html")
	case strings.HasPrefix(p, "assets/page/"):
		s.serveScript(w, r, strings.TrimSuffix(strings.TrimPrefix(p, "assets/page/"), ".js"))
	case strings.HasPrefix(p, "assets/"):
		s.serveFile(w, r, strings.TrimPrefix(p, "assets/"))
	case p == "api/state":
		s.serveState(w, r)
	case p == "api/events":
		s.hub.serve(w, r)
	case p == "api/memory":
		s.serveMemory(w)
	case strings.HasPrefix(p, "api/run/"):
		s.serveRun(w, strings.TrimPrefix(p, "api/run/"))
	case strings.HasPrefix(p, "api/cut/"):
		s.serveCut(w, strings.TrimPrefix(p, "api/cut/"))
	case strings.HasPrefix(p, "api/page/"):
		s.servePage(w, r, strings.TrimPrefix(p, "api/page/"))
	default:
		http.NotFound(w, r)
	}
}

const cookieName = "plimsoll"

// logIn exchanges the token for a cookie, and redirects to an address without the token. A browser sends a cookie to every port of a host,
// SameSite or not, and so also to a server that another user runs on this machine, or on this port after this process has ended. Hence the
// cookie is for a path that nobody else can name, and both are valid for this process only.
func (s *Server) logIn(w http.ResponseWriter, r *http.Request, given string) {
	sum := sha256.Sum256([]byte(given))
	if subtle.ConstantTimeCompare(sum[:], s.token[:]) != 1 {
		http.Error(w, "the token in this address is not the one that is in force now: plimsoll watch --url prints the whole address", http.StatusUnauthorized)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: s.cookie, Path: s.base, HttpOnly: true, Secure: s.o.Secure, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, s.base, http.StatusSeeOther)
}

// hasCookie reports whether a request has the cookie.
func (s *Server) hasCookie(r *http.Request) bool {
	for _, c := range r.CookiesNamed(cookieName) {
		if subtle.ConstantTimeCompare([]byte(c.Value), []byte(s.cookie)) == 1 {
			return true
		}
	}
	return false
}

// serveFile serves an embedded file of the dashboard, or 404 if there is none of this name.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request, name string) {
	if path.Clean("/"+name) != "/"+name {
		http.NotFound(w, r)
		return
	}
	text, err := fs.ReadFile(static, "static/"+name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentType(name))
	_, _ = w.Write(text)
}

// contentType returns the media type of an embedded file by the end of its name.
func contentType(name string) string {
	switch path.Ext(name) { // the system's table may say something else
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "text/plain; charset=utf-8"
}

// serveScript serves the script of an added page: its own, or tables.js if it has none.
func (s *Server) serveScript(w http.ResponseWriter, r *http.Request, name string) {
	for _, p := range s.pages {
		if p.Name == name && p.Script == nil {
			s.serveFile(w, r, "tables.js")
			return
		}
		if p.Name == name {
			w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
			_, _ = w.Write(p.Script)
			return
		}
	}
	http.NotFound(w, r)
}

// answerJSON writes v as JSON with this status.
func answerJSON(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "this cannot be written as JSON: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(printable.SafeJSON(text))
}

type problem struct {
	Error string `json:"error"`
}

// serveState answers with the version, the list of pages and the newest snapshot.
func (s *Server) serveState(w http.ResponseWriter, r *http.Request) {
	now, err := s.hub.waitForSnapshot(r.Context())
	if err != nil {
		answerJSON(w, http.StatusInternalServerError, problem{err.Error()})
		return
	}
	pages := s.pages
	if pages == nil {
		pages = []Page{}
	}
	answerJSON(w, http.StatusOK, struct {
		Version string          `json:"version"`
		Pages   []Page          `json:"pages"`
		Now     json.RawMessage `json:"now"`
	}{s.o.Version, pages, now.encode()})
}

// serveRun answers with all that is stored of a run. If only the index has the run, the answer has an error in it.
func (s *Server) serveRun(w http.ResponseWriter, id string) {
	store, err := runs.Open(s.o.StateDir)
	if err == nil {
		defer store.Close()
		err = store.Poll()
	}
	if err != nil {
		answerJSON(w, http.StatusInternalServerError, problem{err.Error()})
		return
	}
	run, err := store.Run(id)
	unknown, gone := errors.AsType[*runs.UnknownError](err)
	switch {
	case err == nil:
		type plain runs.Run
		page := struct {
			*plain
			Cost    *float64  `json:"cost,omitempty"`
			Spent   []used    `json:"spent,omitempty"`
			Verdict string    `json:"verdict"`
			Next    []string  `json:"next"`
			Help    string    `json:"help,omitempty"`
			Events  []told    `json:"events"`
			Records *struct{} `json:"records,omitempty"` // they are in Events
		}{plain: (*plain)(run), Verdict: stateSentence(run), Next: []string{}, Events: newestEvents(run.Records), Spent: spendLimits(run.Report.Limits)}
		if s.o.Help != nil {
			page.Help, page.Next = s.o.Help(run)
		}
		if run.Live() && len(run.Kills) > 0 && run.LimitBytes > 0 {
			page.Help = raiseCommand(&run.Entry)
		}
		if s.o.Cost != nil {
			if cost, ok := s.o.Cost(&run.Entry); ok {
				page.Cost = &cost
			}
		}
		answerJSON(w, http.StatusOK, page)
	case gone && unknown.Removed && run != nil:
		answerJSON(w, http.StatusOK, struct {
			runs.Entry
			Error string `json:"error"`
		}{run.Entry, err.Error()})
	case gone:
		answerJSON(w, http.StatusNotFound, problem{err.Error()})
	default:
		answerJSON(w, http.StatusInternalServerError, problem{err.Error()})
	}
}

// serveMemory answers with the memory of the host over time, by run.
func (s *Server) serveMemory(w http.ResponseWriter) {
	store, err := runs.Open(s.o.StateDir)
	if err == nil {
		defer store.Close()
		err = store.Poll()
	}
	if err != nil {
		answerJSON(w, http.StatusInternalServerError, problem{err.Error()})
		return
	}
	answerJSON(w, http.StatusOK, s.hub.past.memoryBands(store, time.Now()))
}

// serveCut answers with what was cut from a conversation; 404 if it is not stored.
func (s *Server) serveCut(w http.ResponseWriter, id string) {
	if s.o.Cut == nil {
		answerJSON(w, http.StatusNotFound, problem{"what was cut is not kept here"})
		return
	}
	v, err := s.o.Cut(id)
	if err != nil {
		answerJSON(w, http.StatusNotFound, problem{err.Error()})
		return
	}
	answerJSON(w, http.StatusOK, v)
}

const (
	// pageTime bounds how long the data of a page may take.
	pageTime = 10 * time.Second
	// maxQuestion bounds the query of a page's script, in bytes.
	maxQuestion = 16 << 10
)

// servePage answers with the data of an added page, or, if there is a query, with the page's answer to it.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, name string) {
	for _, p := range s.pages {
		if p.Name != name {
			continue
		}
		ctx, cancel := context.WithTimeout(r.Context(), pageTime)
		defer cancel()
		var v any
		var err error
		switch {
		case r.URL.RawQuery == "":
			v, err = p.Data(ctx)
		case p.Ask == nil || len(r.URL.RawQuery) > maxQuestion:
			answerJSON(w, http.StatusBadRequest, problem{fmt.Sprintf("this page answers no question, or none of more than %d bytes", maxQuestion)})
			return
		default:
			v, err = p.Ask(ctx, r.URL.Query())
		}
		if err != nil {
			answerJSON(w, http.StatusInternalServerError, problem{err.Error()})
			return
		}
		answerJSON(w, http.StatusOK, v)
		return
	}
	http.NotFound(w, r)
}
