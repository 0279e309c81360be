package client_test

import (
	"net/http"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/client"
)

func TestSubscription(t *testing.T) {
	for _, c := range []struct {
		h    http.Header
		want bool
	}{
		{http.Header{}, false},
		{http.Header{"X-Api-Key": {"sk-ant-api03-x"}}, false},
		{http.Header{"Authorization": {"Bearer sk-proj-x"}}, false},
		{http.Header{"Authorization": {"Bearer a-gateway's"}}, false},
		{http.Header{"Authorization": {"Bearer sk-ant-oat01-x"}}, true},
		{http.Header{"X-Api-Key": {"x"}, "Anthropic-Beta": {"a,oauth-2025-04-20"}}, true},
		{http.Header{"Authorization": {"Bearer eyJhbGciOi.x.y"}}, true},
		{http.Header{"Authorization": {"Bearer x"}, "Chatgpt-Account-Id": {"1"}}, true},
		{http.Header{"Authorization": {"AWS4-HMAC-SHA256 Credential=x"}}, false},
	} {
		if got := client.Subscription(c.h); got != c.want {
			t.Errorf("%v: %v", c.h, got)
		}
	}
}
