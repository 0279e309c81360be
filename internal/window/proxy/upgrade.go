package proxy

import (
	"net/http"
	"net/http/httputil"
	pathpkg "path"
	"slices"
	"strings"
)

// sockets are the paths below an upstream at which clients open WebSockets, by their last elements, as patterns of [path.Match]. Behind a switch of
// protocols nothing is looked at any more, and the first request may carry a key that the client does not have: what no client opens stays
// closed.
var sockets = []string{
	"realtime",                       // OpenAI's, Azure's and Codex's (developers.openai.com/api/docs/guides/realtime-websocket, 2026-11-27)
	"ws/speech_to_text/voice_stream", // the voice of Claude Code 2.1.197
	// Gemini Live (ai.google.dev/gemini-api/docs/live-api/get-started-websocket, 2026-11-27)
	"ws/google.ai.generativelanguage.*.GenerativeService.BidiGenerateContent",
	"ws/google.ai.generativelanguage.*.GenerativeService.BidiGenerateContentConstrained",
}

// wantsSocket reports whether a request asks for a WebSocket. A request for another protocol (Java's clients ask for h2c with each one) may
// be ignored (RFC 9110, section 7.8) and is answered as it is.
func wantsSocket(h http.Header) bool {
	return hasToken(h["Connection"], "upgrade") && len(h["Upgrade"]) == 1 && strings.EqualFold(strings.TrimSpace(h["Upgrade"][0]), "websocket")
}

// isSocket reports whether a path below an upstream matches one of sockets.
func isSocket(below string) bool {
	elements := strings.Split(strings.TrimSuffix(below, "/"), "/")
	return slices.ContainsFunc(sockets, func(pattern string) bool {
		last := elements[max(0, len(elements)-1-strings.Count(pattern, "/")):]
		ok, _ := pathpkg.Match(pattern, strings.Join(last, "/"))
		return ok
	})
}

// upgrade answers requests for a WebSocket. A model stream over one cannot be counted or cut: it is answered 426, on which clients fall
// back to HTTP. Those at known paths of other services go through as they are; any other is answered 403.
func (p *Proxy) upgrade(w http.ResponseWriter, r *http.Request, rt *route) {
	if _, last := cutLast(strings.TrimSuffix(rt.below, "/")); last == "responses" && p.o.Mode != Off {
		w.Header()["Upgrade"] = []string{"HTTP/2.0, HTTP/1.1"}
		p.refuse(w, rt, &refusal{
			status: http.StatusUpgradeRequired, reason: "websocket",
			text: "this proxy takes responses over HTTP only: a WebSocket session could not be kept within its window",
		})
		return
	}
	if !isSocket(rt.below) {
		p.refuse(w, rt, &refusal{
			status: http.StatusForbidden, reason: "websocket",
			text: "no WebSocket is opened at this path: this proxy passes those of realtime, Gemini Live and Claude Code's voice; ask over HTTP, or ask the provider directly",
		})
		return
	}
	p.passed(rt, "path", "upgrade")
	target, err := rt.up.target(rt.below, r.URL.RawQuery, r.URL.ForceQuery)
	if err != nil {
		p.refuse(w, rt, badPath(err))
		return
	}
	relay := &httputil.ReverseProxy{
		Transport: p.transport,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL, pr.Out.Host = target, target.Host
			for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"} {
				if v, ok := pr.In.Header[name]; ok {
					pr.Out.Header[name] = v
				}
			}
			p.dropToken(pr.Out.Header, target)
			rt.up.injectKey(pr.Out.Header, target)
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { p.upstreamFailed(w, r, rt, err) },
		ErrorLog:     silent,
	}
	relay.ServeHTTP(w, r)
}
