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
)

// Bedrock is a transport for package anthropic, whose Options.BaseURL is [BedrockURL] and which needs no Key.
type Bedrock struct {
	// Key is a key of Bedrock's own, which is sent in the place of a signature; "" signs with Credentials.
	Key         string
	Credentials aws.CredentialsProvider
	Region      string
	// Next sends the request; nil is http.DefaultTransport.
	Next http.RoundTripper
}

// BedrockURL is where Bedrock's models are in a region.
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
	model, body, err := original(r, bedrockAnthropic)
	if err != nil {
		return nil, err
	}
	out := moved(r, base, "/model/"+escaped(model)+"/invoke-with-response-stream", "", body)
	out.Header.Set("Accept", frameType)
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
	resp, err := through(b.Next).RoundTrip(out)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), frameType) {
		resp.Header.Set("Content-Type", "text/event-stream")
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
		resp.Body = &events{from: resp.Body}
	}
	return resp, nil
}

// escaped is a model's id in a path, with its colons and slashes (those of an ARN) encoded: so the signature is over what is sent.
func escaped(model string) string {
	return strings.ReplaceAll(url.PathEscape(model), ":", "%3A")
}
