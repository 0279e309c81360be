package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

var signer = v4.NewSigner()

// signed are the headers of a signature; a client's own are for another host.
var signed = []string{"Authorization", "X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Content-Sha256"}

// sign signs a request anew with the configured credentials (AWS Signature Version 4): the
// client's signature is over the proxy's host, and over the body before an edit. Without
// credentials a request goes as it is, and the provider says what it thinks of it.
func (p *Proxy) sign(req *http.Request, rt *route, body []byte) error {
	a := rt.up.AWS
	if a == nil {
		return nil
	}
	who, err := a.Credentials.Retrieve(req.Context())
	if err != nil {
		// The cause may quote a profile or an answer of an identity service.
		return fmt.Errorf("upstream %s: the AWS credentials could not be had; `aws sts get-caller-identity` shows why", rt.up.Name)
	}
	for _, name := range signed {
		delete(req.Header, name)
	}
	service := a.Service
	if service == "" {
		service = "bedrock"
	}
	return signer.SignHTTP(req.Context(), who, req, hexSum(body), service, a.Region, time.Now())
}

func hexSum(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// passSigned relays a request that is not looked into, to an upstream that wants it
// signed. Its body has to be held for that.
func (p *Proxy) passSigned(w http.ResponseWriter, r *http.Request, rt *route) {
	body, err := p.readBody(w, r)
	defer body.release()
	if errors.Is(err, errTooLargeToHold) {
		err = &refusal{
			status: http.StatusRequestEntityTooLarge, reason: "too_large",
			text: fmt.Sprintf("the body is larger than %d bytes, the most this proxy holds to sign", p.o.MaxHeld),
		}
	}
	if err != nil {
		p.bodyFailed(w, r, rt, err)
		return
	}
	req, err := p.outgoing(r, rt)
	if err != nil {
		p.refuse(w, rt, badPath(err))
		return
	}
	if len(body.bytes) > 0 || r.ContentLength != 0 {
		body.attach(req, body.bytes, false)
	}
	if err := p.sign(req, rt, body.bytes); err != nil {
		_ = req.Body.Close()
		p.refuse(w, rt, &refusal{status: http.StatusBadGateway, reason: "upstream", text: err.Error()})
		return
	}
	p.relay(w, r, rt, req)
}
