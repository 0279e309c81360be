package clouds

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	googleScope = "https://www.googleapis.com/auth/cloud-platform"
	googleToken = "https://oauth2.googleapis.com/token"
	// maxToken bounds a credentials file, and the answer that has a token, in bytes.
	maxToken = 64 << 10
	// tokenTime bounds the wait for a token.
	tokenTime = 20 * time.Second
)

// Google gets access tokens of Google's.
type Google struct {
	// Project is the project of the credentials; it may be "".
	Project string

	client *http.Client
	ask    func(context.Context) (*http.Request, error)

	mu    sync.Mutex
	token string
	until time.Time
}

// googleFile is a file of credentials.
type googleFile struct {
	Type           string `json:"type"`
	ProjectID      string `json:"project_id"`
	QuotaProject   string `json:"quota_project_id"`
	ClientEmail    string `json:"client_email"`
	PrivateKeyID   string `json:"private_key_id"`
	PrivateKey     string `json:"private_key"`
	TokenURI       string `json:"token_uri"`
	ClientID       string `json:"client_id"`
	ClientSecret   string `json:"client_secret"`
	RefreshToken   string `json:"refresh_token"`
	UniverseDomain string `json:"universe_domain"`
}

// GoogleFile gets tokens by the credentials in a file: a service account's key, or what gcloud left for an application. next sends
// the requests; nil is http.DefaultTransport. It sends nothing yet.
func GoogleFile(path string, next http.RoundTripper) (*Google, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxToken))
	if err != nil {
		return nil, err
	}
	c := googleFile{TokenURI: googleToken}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("%s is no file of credentials (JSON)", path) // the error of json may quote it
	}
	g := &Google{Project: c.ProjectID, client: &http.Client{Transport: transportOr(next)}}
	if u, err := url.Parse(c.TokenURI); err != nil || u.Host == "" || u.Scheme != "https" && u.Hostname() != "127.0.0.1" {
		return nil, fmt.Errorf("%s: its token_uri is no address with https", path)
	}
	switch c.Type {
	case "service_account":
		block, _ := pem.Decode([]byte(c.PrivateKey))
		if block == nil {
			return nil, fmt.Errorf("%s: its private_key is no key in PEM", path)
		}
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: its private_key is no key of PKCS #8", path)
		}
		private, ok := key.(*rsa.PrivateKey)
		if !ok || c.ClientEmail == "" {
			return nil, fmt.Errorf("%s: an RSA key and client_email are needed", path)
		}
		g.ask = func(ctx context.Context) (*http.Request, error) {
			assertion, err := c.assertion(private, time.Now())
			if err != nil {
				return nil, err
			}
			return newFormRequest(ctx, c.TokenURI, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}})
		}
	case "authorized_user":
		if g.Project == "" {
			g.Project = c.QuotaProject
		}
		g.ask = func(ctx context.Context) (*http.Request, error) {
			return newFormRequest(ctx, c.TokenURI, url.Values{
				"grant_type": {"refresh_token"}, "client_id": {c.ClientID}, "client_secret": {c.ClientSecret}, "refresh_token": {c.RefreshToken},
			})
		}
	default:
		return nil, fmt.Errorf("%s has credentials of type %.40q; those of a service_account and of an authorized_user are known", path, c.Type)
	}
	return g, nil
}

// GoogleMachine gets tokens from the machine's own metadata service at host, as "metadata.google.internal".
func GoogleMachine(host string) *Google {
	at := "http://" + host + "/computeMetadata/v1/instance/service-accounts/default/token?scopes=" + url.QueryEscape(googleScope)
	return &Google{client: &http.Client{Transport: &http.Transport{}}, ask: func(ctx context.Context) (*http.Request, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err == nil {
			r.Header.Set("Metadata-Flavor", "Google")
		}
		return r, err
	}}
}

// assertion returns the signed claims of a service account (RFC 7523).
func (c *googleFile) assertion(key *rsa.PrivateKey, now time.Time) (string, error) {
	part := func(v any) string {
		text, _ := json.Marshal(v) // of texts and numbers
		return base64.RawURLEncoding.EncodeToString(text)
	}
	said := part(map[string]string{"alg": "RS256", "typ": "JWT", "kid": c.PrivateKeyID}) + "." +
		part(map[string]any{"iss": c.ClientEmail, "scope": googleScope, "aud": c.TokenURI, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()})
	sum := sha256.Sum256([]byte(said))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		return "", errors.New("the key of the service account does not sign")
	}
	return said + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

func newFormRequest(ctx context.Context, at string, values url.Values) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(values.Encode()))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r, err
}

// Token returns an access token.
func (g *Google) Token(ctx context.Context) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Until(g.until) > time.Minute {
		return g.token, nil
	}
	ctx, cancel := context.WithTimeout(ctx, tokenTime)
	defer cancel()
	r, err := g.ask(ctx)
	if err != nil {
		return "", err
	}
	resp, err := g.client.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return "", fmt.Errorf("a token of Google's: %s: %w", r.URL.Host, err)
	}
	defer resp.Body.Close()
	var got struct {
		Token   string `json:"access_token"`
		Seconds int    `json:"expires_in"`
		Error   string `json:"error"`
		Why     string `json:"error_description"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, maxToken)).Decode(&got)
	if err != nil || resp.StatusCode != http.StatusOK || got.Token == "" || strings.ContainsAny(got.Token, "\r\n") {
		return "", fmt.Errorf("a token of Google's: %s says %s %.100s %.200s", r.URL.Host, resp.Status, got.Error, got.Why)
	}
	g.token, g.until = got.Token, time.Now().Add(time.Duration(min(max(got.Seconds, 0), 86400))*time.Second)
	return g.token, nil
}

// Vertex is a transport for packages gemini and anthropic, whose Options.BaseURL is [VertexURL] and which need no Key.
type Vertex struct {
	Project, Location string
	Token             func(context.Context) (string, error)
	// Next sends the request; nil is http.DefaultTransport.
	Next http.RoundTripper
}

// VertexURL returns the address of Vertex AI in a location, "global" or one like "europe-west1".
func VertexURL(location string) string {
	if location == "global" {
		return "https://aiplatform.googleapis.com"
	}
	return "https://" + location + "-aiplatform.googleapis.com"
}

// The version of Anthropic's API that Vertex AI speaks.
const vertexAnthropic = "vertex-2023-10-16"

// RoundTrip implements http.RoundTripper.
func (v Vertex) RoundTrip(r *http.Request) (*http.Response, error) {
	place := fmt.Sprintf("/v1/projects/%s/locations/%s/publishers/", url.PathEscape(v.Project), url.PathEscape(v.Location))
	var out *http.Request
	if base, ok := strings.CutSuffix(r.URL.EscapedPath(), "/v1/messages"); ok {
		model, body, err := convertAnthropic(r, vertexAnthropic)
		if err != nil {
			return nil, err
		}
		out = withBody(r, base, place+"anthropic/models/"+url.PathEscape(model)+":streamRawPredict", "", streaming(body))
	} else {
		base, model, ok := strings.Cut(r.URL.EscapedPath(), "/v1beta/models/")
		if !ok {
			return nil, fmt.Errorf("vertex: no path for %s", r.URL.EscapedPath())
		}
		out = withBody(r, base, place+"google/models/"+model, r.URL.RawQuery, nil)
	}
	token, err := v.Token(r.Context())
	if err != nil {
		if out.Body != nil {
			_ = out.Body.Close()
		}
		return nil, err
	}
	out.Header.Set("Authorization", "Bearer "+token)
	return transportOr(v.Next).RoundTrip(out)
}

// streaming puts the member that asks for a stream back: Vertex AI wants it, Bedrock refuses it.
func streaming(body []byte) []byte {
	return append([]byte(`{"stream":true,`), body[1:]...)
}
