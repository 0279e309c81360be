package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

var signer = v4.NewSigner()

// signed are the headers of a signature; a client's own signature is over another host.
var signed = []string{"Authorization", "X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Content-Sha256"}

// sign signs a request with the upstream's AWS credentials (Signature Version 4): the client's own signature is over the proxy's host, and
// over the body before an edit. If the upstream is not to be signed for, it does nothing. The error means that there are no credentials.
func (p *Proxy) sign(req *http.Request, rt *route, body []byte) error {
	a := rt.up.AWS
	if !rt.up.mustSign(req.Header) {
		return nil
	}
	who, err := a.Credentials.Retrieve(req.Context())
	if err != nil {
		// The cause may quote a profile or an answer of an identity service.
		return fmt.Errorf("upstream %s: the AWS credentials could not be had; `aws sts get-caller-identity` shows why", rt.up.Name)
	}
	region := p.region(req, rt)
	for _, name := range signed {
		delete(req.Header, name)
	}
	service := a.Service
	if service == "" {
		service = "bedrock"
	}
	return signer.SignHTTP(req.Context(), who, req, hexSum(body), service, region, time.Now().Add(time.Duration(p.skew.Load())))
}

// mustSign reports whether a request with these headers must be signed anew.
func (u *upstream) mustSign(h http.Header) bool {
	if u.AWS == nil || !u.AWS.Bearer {
		return u.AWS != nil
	}
	scheme, _, ok := strings.Cut(h.Get("Authorization"), " ")
	return !ok || !strings.EqualFold(scheme, "Bearer")
}

// region returns the AWS region to sign a request for. If the client has signed for another region than the upstream's, and that is a plain
// Bedrock host, it is the client's, and the request's host is changed to match: a client may ask several regions through one address.
func (p *Proxy) region(req *http.Request, rt *route) string {
	ours := rt.up.AWS.Region
	_, scope, _ := strings.Cut(req.Header.Get("Authorization"), "Credential=")
	parts := strings.SplitN(scope, "/", 5) // key, day, region, service
	if len(parts) < 5 || parts[2] == "" || len(parts[2]) > 32 || strings.Trim(parts[2], "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return ours
	}
	if host := bedrockHost(ours); req.URL.Host == host && parts[2] != ours {
		req.URL.Host = bedrockHost(parts[2])
		req.Host = req.URL.Host
		return parts[2]
	}
	return ours
}

// bedrockHost returns the host name of Bedrock in a region.
func bedrockHost(region string) string { return "bedrock-runtime." + region + ".amazonaws.com" }

// maxSkew bounds the difference between our clock and that of AWS, which refuses a signature at five minutes.
const maxSkew = 4 * time.Minute

// sendSigned sends a request that [Proxy.sign] has signed. If it is refused and the answer's clock differs from ours by more than maxSkew,
// the difference is kept for all later signatures and the request is signed and sent once more.
func (p *Proxy) sendSigned(w http.ResponseWriter, req *http.Request, rt *route, body []byte) (*http.Response, error) {
	res, err := p.sendRequest(w, req)
	if err != nil || !rt.up.mustSign(req.Header) || !p.correctClock(res) {
		return res, err
	}
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return res, nil // the refusal is the answer then
		}
	}
	if err := p.sign(again, rt, body); err != nil {
		_ = again.Body.Close()
		return res, nil
	}
	_ = res.Body.Close()
	return p.sendRequest(w, again)
}

// correctClock returns true if an answer refuses a request and its Date differs from our clock by more than maxSkew; the difference is then
// used for all later signatures.
func (p *Proxy) correctClock(res *http.Response) bool {
	switch res.StatusCode {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
	default:
		return false
	}
	theirs, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		return false
	}
	skew := time.Until(theirs)
	if off := skew - time.Duration(p.skew.Load()); off.Abs() <= maxSkew {
		return false
	}
	p.skew.Store(int64(skew))
	return true
}

// hexSum returns the SHA-256 of body in hexadecimal.
func hexSum(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// passSigned relays a request without parsing it to an upstream for which it must be signed. It holds the whole body in memory for that.
func (p *Proxy) passSigned(w http.ResponseWriter, r *http.Request, rt *route) {
	body, err := p.readBody(w, r)
	defer body.releaseUse()
	if errors.Is(err, errTooLargeToHold) {
		err = &refusal{
			status: http.StatusRequestEntityTooLarge, reason: "too_large",
			text: fmt.Sprintf("the body is larger than %d bytes, the most this proxy holds to sign", p.o.MaxHeld),
		}
	}
	if err != nil {
		p.answerBodyError(w, r, rt, err)
		return
	}
	req, err := p.outgoingRequest(r, rt)
	if err != nil {
		p.answerRefusal(w, rt, badPath(err))
		return
	}
	if len(body.bytes) > 0 || r.ContentLength != 0 {
		body.attachTo(req, body.bytes, false)
	}
	if err := p.sign(req, rt, body.bytes); err != nil {
		_ = req.Body.Close()
		p.answerRefusal(w, rt, &refusal{status: http.StatusBadGateway, reason: "upstream", text: err.Error()})
		return
	}
	res, err := p.sendSigned(w, req, rt, body.bytes)
	p.relayAnswer(w, r, rt, res, err)
}
