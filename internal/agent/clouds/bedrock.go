package clouds

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/plimsoll/plimsoll/internal/eventstream"
)

// Bedrock is a transport for package anthropic, whose Options.BaseURL is [BedrockURL] and which needs no Key.
type Bedrock struct {
	// Key is a key of Bedrock's own, which is sent in the place of a signature; "" signs with Credentials.
	Key         string
	Credentials aws.CredentialsProvider
	Region      string
	// Converse asks by ConverseStream, as the models of other makers than Anthropic are asked. Caches are not asked for, and a model thinks
	// as it does by itself.
	Converse bool
	// Next sends the request; nil is http.DefaultTransport.
	Next http.RoundTripper
}

// BedrockURL returns the address of Bedrock's models in a region.
func BedrockURL(region string) string {
	host := "https://bedrock-runtime." + region + ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		host += ".cn"
	}
	return host
}

// The version of Anthropic's API that Bedrock speaks.
const bedrockAnthropic = "bedrock-2023-05-31"

// RoundTrip implements http.RoundTripper.
func (b Bedrock) RoundTrip(r *http.Request) (*http.Response, error) {
	base, ok := strings.CutSuffix(r.URL.EscapedPath(), "/v1/messages")
	if !ok {
		return nil, fmt.Errorf("bedrock: no path for %s", r.URL.EscapedPath())
	}
	model, operation, body, err := b.body(r)
	if err != nil {
		return nil, err
	}
	out := withBody(r, base, "/model/"+escaped(model)+operation, "", body)
	out.Header.Set("Accept", eventstream.Type)
	if b.Key != "" {
		out.Header.Set("Authorization", "Bearer "+b.Key)
	} else {
		who, err := b.Credentials.Retrieve(r.Context())
		if err != nil {
			return nil, fmt.Errorf("the AWS credentials could not be had; `aws sts get-caller-identity` shows why")
		}
		sum := sha256.Sum256(body)
		if err := v4.NewSigner().SignHTTP(r.Context(), who, out, hex.EncodeToString(sum[:]), "bedrock", b.Region, time.Now()); err != nil {
			return nil, err
		}
	}
	resp, err := transportOr(b.Next).RoundTrip(out)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), eventstream.Type) {
		resp.Header.Set("Content-Type", "text/event-stream")
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
		resp.Body = newEvents(resp.Body)
	}
	return resp, nil
}

// body returns the body to send, its model and the operation to send it to.
func (b Bedrock) body(r *http.Request) (model, operation string, body []byte, err error) {
	if !b.Converse {
		model, body, err = original(r, bedrockAnthropic)
		return model, "/invoke-with-response-stream", body, err
	}
	model, members, err := read(r)
	if err == nil {
		body, err = converse(members)
	}
	return model, "/converse-stream", body, err
}

// escaped returns a model's id in a path, with its colons and slashes (those of an ARN) encoded: so the signature is over what is sent.
func escaped(model string) string {
	return strings.ReplaceAll(url.PathEscape(model), ":", "%3A")
}
