package simulator

import (
	"net/http"
	"strconv"
	"sync"
)

// stream writes events: lines of JSON, or server-sent events where the client asks for them.
// Headers go with the first event, as the gateway has it.
type stream struct {
	c       *call
	sse     bool
	prune   *pruning
	b       []byte
	started bool
}

func (c *call) stream(p *pruning) *stream {
	return &stream{c: c, sse: c.r.Header.Get("Accept") == "text/event-stream", prune: p}
}

func (st *stream) headers(ok bool) {
	h := st.c.w.Header()
	h.Set("Content-Type", "application/json")
	if st.sse {
		h.Del("Vary")
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Content-Type-Options", "nosniff")
	}
	if ok {
		h.Set("Grpc-Metadata-Content-Type", "application/grpc")
	}
	st.started, st.c.started = true, true
}

// send adds one result.
func (st *stream) send(result []byte) error {
	event := cat(nil, `{"result":`, string(result), `}`)
	if st.prune != nil {
		var err error
		if event, err = st.prune.apply("", event); err != nil {
			return err
		}
	}
	return st.raw(event)
}

func (st *stream) raw(event []byte) error {
	if !st.started {
		st.headers(true)
	}
	if st.sse {
		st.b = cat(st.b, "data: ", string(event), " \n\n\n")
	} else {
		st.b = append(append(st.b, event...), '\n')
	}
	if len(st.b) >= piece {
		return st.push()
	}
	return nil
}

// push gets the events to the client.
func (st *stream) push() error {
	if len(st.b) == 0 {
		return nil
	}
	_, err := st.c.w.Write(st.b)
	st.b = st.b[:0]
	// A writer that cannot flush, as of a test, has nothing to push.
	_ = http.NewResponseController(st.c.w).Flush()
	return err
}

func (st *stream) end() error { return st.push() }

// failStream answers with an error as a stream tells it.
func (c *call) failStream(r *refusal) {
	st := c.stream(nil)
	if !c.started {
		st.headers(false)
		c.w.WriteHeader(r.status())
	}
	// Nothing ends an error, unlike an event.
	if st.b = r.inStream(); st.sse {
		st.b = cat(nil, "data: ", string(st.b), " \n\n")
	}
	_ = st.push() // a client that has gone needs no answer
}

// change is what a write did to an object.
type change struct {
	kind   kind
	how    string // ADDED, MODIFIED, DELETED
	head   head
	body   []byte
	number int64
}

// maxMissed is how many changes wait for one watcher; beyond that it misses some, as a
// watcher of the server does.
const maxMissed = 256

// broadcaster sends changes to all watchers.
type broadcaster struct {
	mu       sync.Mutex
	watchers map[chan change]bool
	missed   int64
}

func (h *broadcaster) watch() (<-chan change, func()) {
	ch := make(chan change, maxMissed)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = make(map[chan change]bool)
	}
	h.watchers[ch] = true
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, ch)
	}
}

func (h *broadcaster) tell(c change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.watchers {
		select {
		case ch <- c:
		default:
			h.missed++
		}
	}
}

// watchFilter is like the filter of a list, with the error in the words of a watch.
func (c *call) watchFilter() (filter, error) {
	f, err := c.wants()
	if err != nil {
		_, broken := parseSelector(c.query.Get("selector"))
		return f, refuse(unknown, "error parsing labels with selectors: %v", broken)
	}
	return f, nil
}

// watch sends all objects as ADDED and then every change, until the client goes. With a
// resourceVersion that is not too old only changes come, as of a list that was read before.
func (c *call) watch(k kind, wrapper string, f filter, all func(send func(h *head, body []byte) error) error) error {
	changes, done := c.hub.watch()
	defer done()
	st := c.stream(prunes(c.query.Get("fields")))
	event := func(how string, h *head, body []byte) error {
		if !c.canRead(h.project) || !f.takes(h) {
			return nil
		}
		return st.send(cat(nil, `{"type":"`, how, `","`, wrapper, `":`, string(body), `}`))
	}
	since, _ := strconv.ParseInt(c.query.Get("resourceVersion"), 10, 64) // another text is no version: everything
	if since == 0 {
		if err := all(func(h *head, body []byte) error { return event("ADDED", h, body) }); err != nil {
			return err
		}
	}
	for {
		if err := st.push(); err != nil {
			return err
		}
		select {
		case <-c.r.Context().Done():
			return c.r.Context().Err()
		case ch := <-changes:
			if ch.kind != k || ch.number <= since {
				continue
			}
			if err := event(ch.how, &ch.head, ch.body); err != nil {
				return err
			}
		}
	}
}

func watchApplications(c *call) error {
	f, err := c.watchFilter()
	if err != nil {
		return err
	}
	return c.watch(applications, "application", f, func(send func(*head, []byte) error) error {
		var a application
		var body []byte
		var err error
		c.eachApplication(&a, func(h *head, e *entry) bool {
			if !c.canRead(h.project) || !f.takes(h) {
				return true
			}
			if e != nil {
				body = append(body[:0], e.body...)
			} else {
				body = a.write(body[:0], c.kinds)
			}
			err = send(h, body)
			return err == nil
		})
		return err
	})
}

func watchSets(c *call) error {
	f, err := c.watchFilter()
	if err != nil {
		return err
	}
	f.repo = ""
	f.space = c.query.Get("appSetNamespace")
	return c.watch(applicationsets, "applicationSet", f, func(send func(*head, []byte) error) error {
		var err error
		c.Simulator.stored[applicationsets].walk(c.sets.n, c.sets.name, func(i int, e *entry) bool {
			if e != nil {
				err = send(&e.head, e.body)
				return err == nil
			}
			p := c.set(i)
			err = send(&head{name: p.name, namespace: "argocd", project: p.project, labels: p.labels(nil)}, c.writeSet(nil, &p))
			return err == nil
		})
		return err
	})
}

// watchTree sends the tree, and again whenever the application changes.
func watchTree(c *call) error {
	changes, done := c.hub.watch()
	defer done()
	st := c.stream(prunes(c.query.Get("fields")))
	for {
		f, t, err := c.content()
		if err != nil {
			return err
		}
		if err := st.send(c.writeTree(nil, &t)); err != nil {
			return err
		}
		if err := st.push(); err != nil {
			return err
		}
		for again := false; !again; {
			select {
			case <-c.r.Context().Done():
				return c.r.Context().Err()
			case ch := <-changes:
				again = ch.kind == applications && ch.head.name == f.name && ch.head.namespace == f.namespace
			}
		}
	}
}
