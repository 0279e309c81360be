package simulator

import "net/http"

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
