package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/tools/mcp/bridge"
	mcpclient "github.com/plimsoll/plimsoll/tools/mcp/client"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// versions are the protocol versions that a server speaks, as far as is known.
type versions struct {
	sessions    bool // up to 2025-11-25: initialize and a session
	sessionless bool // 2026-07-28: every request stands alone
	asked       bool // by server/discover: what is not said to be spoken is not
}

func (v versions) unknown() bool { return v == versions{} }

// versionAge is how long a remote server's versions are believed: it may be replaced by a newer one.
const versionAge = time.Hour

// detect asks a server for its versions by server/discover, a sessionless one also whether it speaks the version with sessions too.
func (s *Server) detect(ctx context.Context, next transport.Peer, first transport.Message) (versions, error) {
	v, err := bridge.Detect(ctx, next, first, s.bridging())
	if said, ok := errors.AsType[*mcpclient.StatusError](err); ok && lacksVersion(said.Status) {
		v, err = bridge.WithSessions, nil
	}
	if err != nil {
		return versions{}, err
	}
	out := versions{sessions: v == bridge.WithSessions, sessionless: v == bridge.Sessionless, asked: true}
	if out.sessionless {
		out.sessions = speaksSessions(ctx, next, first)
	}
	s.learned(out)
	return out, nil
}

// lacksVersion reports whether an HTTP status means that the server does not know the request, rather than that it wants
// credentials or is busy. These are the backward compatibility rules of 2026-07-28.
func lacksVersion(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusProxyAuthRequired, http.StatusRequestTimeout:
		return false
	}
	return status >= 400 && status < 500
}

func (s *Server) learned(v versions) {
	s.mu.Lock()
	s.versions, s.learnedAt = v, time.Now()
	s.mu.Unlock()
}

func (s *Server) speaks() versions {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions
}

// speaksSessions asks a sessionless server whether it speaks the version with sessions too.
func speaksSessions(ctx context.Context, next transport.Peer, first transport.Message) bool {
	raw := jsonrpc.NewRequest(`"plimsoll-discover"`, "server/discover", []byte(`{"_meta":{"`+metaVersion+`":"`+bridge.ModernVersion+
		`","`+metaClientInfo+`":{"name":"plimsoll","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`))
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := transport.Ask(ctx, next, transport.Message{Raw: raw, Head: head, Header: first.Header, Principal: first.Principal}, maxInitialize)
	if err != nil {
		return false
	}
	versions := rawjson.Get(answer, "result", "supportedVersions")
	if versions.IsZero() {
		return false
	}
	for v, err := range rawjson.Elements(answer, versions.Start) {
		if err == nil && v.Len() > 4 && string(answer[v.Start:v.End]) < `"2026` {
			return true
		}
	}
	return false
}
