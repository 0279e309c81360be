package a2a

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/a2a03"
)

// cardAge is the time that clients may keep the card, in seconds.
const cardAge = "300"

// CardAt returns the agent card for clients that reach the server at base, a URL with its path.
func (s *Server) CardAt(base string) *sdk.AgentCard {
	base = strings.TrimSuffix(base, "/")
	// The calls of JSON-RPC go to the path itself, with the slash that ServeMux wants there;
	// those of REST are joined to it, with a slash of their own.
	at := func(url string, binding sdk.TransportProtocol, version sdk.ProtocolVersion) *sdk.AgentInterface {
		return &sdk.AgentInterface{URL: url, ProtocolBinding: binding, ProtocolVersion: version}
	}
	c := s.o.Card
	card := &sdk.AgentCard{
		Name: s.o.Name, Description: c.Description, Version: c.Version,
		DocumentationURL: c.Documentation, Provider: c.Provider,
		DefaultInputModes: c.InputModes, DefaultOutputModes: c.OutputModes, Skills: c.Skills,
		Capabilities: sdk.AgentCapabilities{
			Streaming: true, PushNotifications: true, ExtendedAgentCard: c.Extended != nil,
		},
		SupportedInterfaces: []*sdk.AgentInterface{
			at(base+"/", sdk.TransportProtocolJSONRPC, sdk.Version),
			at(base, sdk.TransportProtocolHTTPJSON, sdk.Version),
		},
	}
	if c.Bearer {
		const scheme = sdk.SecuritySchemeName("bearer")
		card.SecuritySchemes = sdk.NamedSecuritySchemes{scheme: sdk.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
		card.SecurityRequirements = sdk.SecurityRequirementsOptions{{scheme: {}}}
	}
	if !s.o.Only10 {
		card.SupportedInterfaces = append(card.SupportedInterfaces, at(base+"/", sdk.TransportProtocolJSONRPC, a2a03.Version))
	}
	return card
}

// cardJSON returns the card for a request. It is one for A2A 1.0 and 0.3, whose fields have different names, unless the request asks for
// 1.0 or the server serves nothing else.
func (s *Server) cardJSON(r *http.Request) ([]byte, error) {
	card := s.CardAt(s.baseOf(r))
	if version, err := versionOf(r); s.o.Only10 || err == nil && version == version10 {
		return json.MarshalIndent(card, "", "  ")
	}
	return a2a03.Card(card)
}

// baseOf returns the URL of the server for clients: Options.URL, or else the one that the request was sent to.
func (s *Server) baseOf(r *http.Request) string {
	if s.o.URL != "" {
		return s.o.URL
	}
	at := url.URL{Scheme: "http", Host: r.Host, Path: s.o.Path}
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		at.Scheme = "https"
	}
	return at.String()
}

// serveCard answers with the agent card. No credential is needed.
func (s *Server) serveCard(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Access-Control-Allow-Origin", "*") // it is public
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		head.Set("Access-Control-Allow-Methods", "GET, OPTIONS")
		head.Set("Access-Control-Allow-Headers", "Content-Type, "+versionHeader)
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		head.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "the agent card is read with GET", http.StatusMethodNotAllowed)
		return
	}
	body, err := s.cardJSON(r)
	if err != nil {
		s.log.Error("a2a: the agent card can't be written", "agent", s.o.Name, "error", err)
		http.Error(w, "the agent card can't be written", http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256(body)
	head.Set("Content-Type", "application/json")
	head.Set("Cache-Control", "max-age="+cardAge)
	head.Set("Vary", "Host, X-Forwarded-Proto, "+versionHeader)
	head.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	head.Set("Last-Modified", s.begun.UTC().Format(http.TimeFormat))
	if r.Header.Get("If-None-Match") == head.Get("ETag") {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(body) // a client that is gone needs no answer
}
