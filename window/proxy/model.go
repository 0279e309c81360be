package proxy

import (
	"errors"
	"net/http"
)

// modelRequest handles a request to a model: read, looked into, sent, recovered.
func (p *Proxy) modelRequest(w http.ResponseWriter, r *http.Request, rt *route) {
	if r.ContentLength > p.o.MaxBody {
		p.refuse(w, rt, p.tooLarge())
		return
	}
	body, err := p.readBody(r)
	defer body.release()
	switch {
	case errors.Is(err, errTooLargeToHold):
		p.passed(rt, "size", "")
		p.passBody(w, r, rt, &resumedBody{held: body.reader(body.bytes), rest: r.Body})
		return
	case err != nil:
		p.bodyFailed(w, r, rt, err)
		return
	}
	req, err := p.outgoing(r, rt)
	if err != nil {
		p.refuse(w, rt, badPath(err))
		return
	}
	body.attach(req, body.bytes, r.ContentLength < 0)
	if err := p.sign(req, rt, body.bytes); err != nil {
		_ = req.Body.Close()
		p.refuse(w, rt, &refusal{status: http.StatusBadGateway, reason: "upstream", text: err.Error()})
		return
	}
	p.relay(w, r, rt, req)
}
