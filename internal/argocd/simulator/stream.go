package simulator

import "net/http"

// stream writes events as lines of JSON. Headers go with the first event, as the gateway has it.
type stream struct {
	c *call
	b []byte
}

func (c *call) stream() *stream { return &stream{c: c} }

// headers begins the answer, once.
func (st *stream) headers(ok bool) {
	st.c.started = true
	st.c.w.Header().Set("Content-Type", "application/json")
	if ok {
		st.c.w.Header().Set("Grpc-Metadata-Content-Type", "application/grpc")
	}
}

// send adds one result.
func (st *stream) send(result []byte) error {
	event := cat(nil, `{"result":`, string(result), `}`)
	if !st.c.started {
		st.headers(true)
	}
	st.b = append(append(st.b, event...), '\n')
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

// failStream answers with an error as a stream tells it.
func (c *call) failStream(r *refusal) {
	st := c.stream()
	if !c.started {
		st.headers(false)
		c.w.WriteHeader(r.status())
	}
	st.b = r.inStream() // nothing ends an error, unlike an event
	_ = st.push()       // a client that has gone needs no answer
}
