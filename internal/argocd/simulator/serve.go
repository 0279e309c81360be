package simulator

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/lazy"
)

// route is one call of the API.
type route struct {
	method string
	path   *regexp.Regexp
	open   bool // answers without a token
	stream bool // errors are events
	handle func(c *call)
}

// handlersByCall returns the calls that are played. In a path "{}" is a part that varies, and "{**}" all of what is left.
func handlersByCall() map[string]func(*call) {
	return map[string]func(*call){
		"GET /api/version":                                 getVersion,
		"GET /api/v1/account":                              fixed(`{"items":[` + strings.Join(accounts(), ",") + `]}`),
		"GET /api/v1/account/{}":                           getAccount,
		"GET /api/v1/account/can-i/{}/{}/{**}":             answerCanI,
		"GET /api/v1/certificates":                         listCertificates,
		"GET /api/v1/gpgkeys":                              fixed(`{"metadata":{}}`),
		"GET /api/v1/repositories":                         listRepositories,
		"GET /api/v1/clusters":                             listClusters,
		"GET /api/v1/clusters/{}":                          getCluster,
		"GET /api/v1/projects":                             listObjects(projects),
		"GET /api/v1/projects/{}":                          getObject(projects),
		"GET /api/v1/projects/{}/detailed":                 getDetailed,
		"POST /api/v1/projects":                            createProject,
		"PUT /api/v1/projects/{}":                          updateProject,
		"DELETE /api/v1/projects/{}":                       deleteProject,
		"GET /api/v1/applicationsets":                      listObjects(applicationsets),
		"GET /api/v1/applicationsets/{}":                   getObject(applicationsets),
		"POST /api/v1/applicationsets":                     createApplicationSet,
		"DELETE /api/v1/applicationsets/{}":                deleteApplicationSet,
		"POST /api/v1/applicationsets/generate":            previewApplicationSet,
		"GET /api/v1/applications":                         listObjects(applications),
		"GET /api/v1/applications/{}":                      getObject(applications),
		"POST /api/v1/applications":                        createApplication,
		"PATCH /api/v1/applications/{}":                    changeHandler("update", patchApplication),
		"DELETE /api/v1/applications/{}":                   changeHandler("delete", deleteApplication),
		"PUT /api/v1/applications/{}/spec":                 changeHandler("update", updateSpec),
		"POST /api/v1/applications/{}/sync":                changeHandler("sync", syncApplication),
		"POST /api/v1/applications/{}/rollback":            changeHandler("sync", rollbackApplication),
		"DELETE /api/v1/applications/{}/operation":         changeHandler("sync", terminateOperation),
		"GET /api/v1/applications/{}/resource-tree":        getTree,
		"GET /api/v1/applications/{}/managed-resources":    getManaged,
		"GET /api/v1/applications/{}/events":               getEvents,
		"GET /api/v1/applications/{}/syncwindows":          getSyncWindows,
		"GET /api/v1/applications/{}/links":                fixed(`{}`),
		"GET /api/v1/applications/{}/manifests":            getManifests,
		"GET /api/v1/applications/{}/resource":             getResource,
		"GET /api/v1/applications/{}/resource/actions":     getActions,
		"POST /api/v1/applications/{}/resource/actions":    changeHandler("action", runAction),
		"POST /api/v1/applications/{}/resource/actions/v2": changeHandler("action", runAction),
		"GET /api/v1/applications/{}/logs":                 getLogs,
	}
}

// compileRoutes returns the calls of the API, with a pattern for the path of each. {} in a path stands for one part, {**} for all the rest.
func compileRoutes() (all []route) {
	for call, handle := range handlersByCall() {
		method, path, _ := strings.Cut(call, " ")
		pattern := "^" + strings.NewReplacer("{}", "([^/]*)", "{**}", "(.*)").Replace(path) + "$"
		all = append(all, route{method, regexp.MustCompile(pattern), path == "/api/version", strings.HasSuffix(path, "/logs"), handle})
	}
	return all
}

const loginPage = `<!doctype html><html lang="en"><head><meta charset="UTF-8"><title>Log in to Argo CD</title><base href="/"></head>` +
	`<body><noscript><p>Your browser does not support JavaScript.</p></noscript><div id="app"></div><form action="/auth/login" method="post">` +
	`<input name="username"><input name="password" type="password"><button>Sign in</button></form></body></html>` + "\n"

// pauseFor waits for d. If the client goes meanwhile, it ends the request by a panic that the HTTP server knows.
func pauseFor(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		panic(http.ErrAbortHandler)
	}
}

// answerRequest answers one request, with the faults f. The version needs no token; everything else that the API has does.
func (s *Simulator) answerRequest(w http.ResponseWriter, r *http.Request, f Faults) {
	path := r.URL.Path
	switch {
	case f.HTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, loginPage) // a client that has gone needs no answer
		return
	case path == "/healthz":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ok\n") // a client that has gone needs no answer
		return
	case !strings.HasPrefix(path, "/api/"):
		w.Header().Set("Vary", "Accept-Encoding")
		http.Error(w, "Not Found", http.StatusNotFound)
		return
	case r.Method != http.MethodGet && !strings.EqualFold(r.Header.Get("Content-Type"), "application/json"):
		http.Error(w, "Invalid content type", http.StatusUnsupportedMediaType)
		return
	case f.Status != 0 && strings.HasPrefix(path, "/api/v1"):
		failAll(w, f.Status)
		return
	}
	w.Header().Set("Vary", "Accept-Encoding")
	rt, args, status := s.routeOf(r)
	if rt == nil {
		http.Error(w, http.StatusText(status), status)
		return
	}
	c := &call{Simulator: s, w: w, r: r, query: r.URL.Query(), args: args, faults: f}
	told := c.findUser()
	if told == nil || rt.open {
		told = c.callRefusable(rt.answerCall)
	}
	if told != nil {
		told.write(w, rt.stream)
	}
}

// answerCall answers a call, compressed if the client takes it and it is no stream. Of calls that are no GET the body is read first, and
// one runs at a time.
func (rt *route) answerCall(c *call) {
	if rt.method != http.MethodGet {
		c.receiveBody()
		c.writing.Lock()
		defer c.writing.Unlock()
	}
	z := &compressed{ResponseWriter: c.w}
	if !rt.stream && strings.Contains(c.r.Header.Get("Accept-Encoding"), "gzip") {
		c.w = z
	}
	rt.handle(c)
	if z.z != nil {
		_ = z.z.Close() // a client that has gone needs no answer
	}
}

// escapedPaths are those of which the gateway takes names apart before it reads their escapes.
var escapedPaths = lazy.Regexp("^/api/v1/(clusters|repositories|repocreds)/")

// routeOf returns the route of a request and the parts of its path that vary, or nil with the status for the answer. A colon that is not
// escaped ends the last part of a path, as the gateway has it: what is behind is a verb, and no call has one.
func (s *Simulator) routeOf(r *http.Request) (found *route, args []string, status int) {
	path := r.URL.Path
	escaped := escapedPaths().MatchString(r.URL.RawPath)
	if escaped {
		path = r.URL.RawPath
	}
	status = http.StatusNotFound
	if strings.Contains(path[strings.LastIndexByte(path, '/'):], ":") {
		return nil, nil, status
	}
	for i := range s.routes {
		rt := &s.routes[i]
		args := rt.path.FindStringSubmatch(path)
		if args == nil {
			continue
		}
		if rt.method != r.Method {
			status = http.StatusMethodNotAllowed
			continue
		}
		for j := range args {
			if plain, err := url.QueryUnescape(args[j]); escaped && err == nil {
				args[j] = plain
			}
		}
		return rt, args[1:], 0
	}
	return nil, nil, status
}

// failAll answers as a broken server or a proxy before it does.
func failAll(w http.ResponseWriter, status int) {
	told := map[int]*refusal{
		http.StatusUnauthorized:        newRefusal(unauthenticated, "no session information"),
		http.StatusForbidden:           deniedRefusal(),
		http.StatusInternalServerError: newRefusal(unknown, "rpc error: code = Unknown desc = connection error"),
	}[status]
	switch {
	case told != nil:
		told.write(w, false)
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
		http.Error(w, http.StatusText(status), status)
	default:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html><head><title>"+http.StatusText(status)+"</title></head><body><center><h1>"+http.StatusText(status)+"</h1></center></body></html>\n") // a client that has gone needs no answer
	}
}

// The codes of gRPC that the server's errors have, https://grpc.io/docs/guides/status-codes/.
const (
	unknown            = 2
	invalidArgument    = 3
	notFound           = 5
	permissionDenied   = 7
	resourceExhausted  = 8
	failedPrecondition = 9
	aborted            = 10
	unauthenticated    = 16
)

// refusal is an error as the server tells it. A call panics with it where it finds the reason, and try takes it: every call can be
// refused in many places, and in none of them goes on.
type refusal struct {
	code    int
	message string
	early   bool // told by the gateway, before a stream is one
}

func newRefusal(code int, format string, args ...any) *refusal {
	return &refusal{code: code, message: fmt.Sprintf(format, args...)}
}

// refuseCall ends the call by a panic that callRefusable turns into a refusal.
func refuseCall(code int, format string, args ...any) { panic(newRefusal(code, format, args...)) }

// callRefusable runs handle and returns the refusal with which it ended the call, nil for none. Any other panic goes on.
func (c *call) callRefusable(handle func(*call)) (told *refusal) {
	defer func() {
		reason := recover()
		if r, ok := reason.(*refusal); ok {
			told = r
		} else if reason != nil {
			panic(reason)
		}
	}()
	handle(c)
	return nil
}

func deniedRefusal() *refusal { return newRefusal(permissionDenied, "permission denied") }

// status returns the HTTP status that the gateway makes of a code.
func (r *refusal) status() int {
	switch r.code {
	case invalidArgument, failedPrecondition:
		return http.StatusBadRequest
	case notFound:
		return http.StatusNotFound
	case aborted:
		return http.StatusConflict
	case permissionDenied:
		return http.StatusForbidden
	case resourceExhausted:
		return http.StatusTooManyRequests
	case unauthenticated:
		return http.StatusUnauthorized
	}
	return http.StatusInternalServerError
}

// write answers with the error, as a call of one answer or as a stream does; nothing ends one in a stream, unlike an event.
func (r *refusal) write(w http.ResponseWriter, stream bool) {
	var body any = struct {
		Error   string `json:"error"`
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{r.message, r.code, r.message}
	if stream && !r.early {
		body = map[string]any{"error": struct {
			GRPC    int    `json:"grpc_code"`
			HTTP    int    `json:"http_code"`
			Message string `json:"message"`
			Status  string `json:"http_status"`
		}{r.code, r.status(), r.message, http.StatusText(r.status())}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status())
	_, _ = w.Write(marshal(body)) // a client that has gone needs no answer
}

// getVersion answers with the version; who has no token is not told about the build.
func getVersion(c *call) {
	text := c.options.Version
	if !strings.Contains(text, "+") {
		text += "+109ca7c"
	}
	build := `,"BuildDate":"2026-08-12T11:24:40Z","GitCommit":"109ca7ca71139e514114499d294a492e7910a965","GitTreeState":"clean","GoVersion":"go1.26.8",` +
		`"Compiler":"gc","Platform":"linux/amd64","KustomizeVersion":"v5.8.1 2026-02-03T12:00:00Z","HelmVersion":"v3.20.0+g1a2b3c4","JsonnetVersion":"v0.22.0"`
	if c.anon {
		build = ""
	}
	c.answer(cat(nil, `{"Version":"`, text, `"`, build, `}`))
}

// accounts returns those that can log in, each as the server writes it.
func accounts() []string {
	return []string{
		`{"name":"admin","enabled":true,"capabilities":["login","apiKey","login"]}`,
		`{"name":"ci","enabled":true,"capabilities":["apiKey"]}`,
		`{"name":"reader","enabled":true,"capabilities":["apiKey","login"]}`,
	}
}

// getAccount answers with one account. A restricted user may only see its own.
func getAccount(c *call) {
	at := slices.IndexFunc(accounts(), func(one string) bool { return strings.HasPrefix(one, `{"name":"`+c.args[0]+`"`) })
	switch {
	case c.user != nil && (at < 0 || c.user.Name != c.args[0]):
		panic(deniedRefusal())
	case at < 0:
		refuseCall(notFound, "account '%s' does not exist", c.args[0])
	}
	c.answer([]byte(accounts()[at]))
}

// answerCanI answers "yes" or "no" to the question whether the user may do something. Who is not restricted may do everything.
func answerCanI(c *call) {
	resource, action, object := c.args[0], c.args[1], c.args[2]
	project, _, _ := strings.Cut(object, "/")
	shown := slices.Contains([]string{"applications", "applicationsets", "projects"}, resource)
	answer := "no"
	if c.user == nil || shown && c.canRead(project) && (action == "get" || c.user.Writes) {
		answer = "yes"
	}
	c.answer(cat(nil, `{"value":"`, answer, `"}`))
}

func listCertificates(c *call) {
	answer := []byte(`{"metadata":{},"items":null}`)
	if c.user == nil {
		answer = c.render(nil, "certificates", &line{}, 0, newDice(c.seed, partMeta, 1<<50))
	}
	c.answer(answer)
}

// fixed returns a call with one answer.
func fixed(answer string) func(*call) { return func(c *call) { c.answer([]byte(answer)) } }
