package proxy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// What a provider says of a plan is told once, again when it has changed, for each login by itself, and without the login.
func TestPlanIsTold(t *testing.T) {
	t.Parallel()
	reset := time.Now().Add(time.Hour).Truncate(time.Second)
	used := "0.42"
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("anthropic-ratelimit-unified-5h-utilization", used)
		w.Header().Set("anthropic-ratelimit-unified-5h-status", "allowed")
		w.Header().Set("anthropic-ratelimit-unified-5h-reset", fmt.Sprint(reset.Unix()))
		fmt.Fprint(w, `{}`)
	}))
	defer upstream.Close()
	_, root, j := start(t, upstream.URL, Options{})
	ask := func(login string) {
		req, _ := http.NewRequest(http.MethodPost, root+"/anthropic/v1/messages", strings.NewReader(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`))
		req.Header.Set("Authorization", "Bearer "+login)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	ask("sk-ant-oat01-one")
	ask("sk-ant-oat01-one")
	used = "0.425"
	ask("sk-ant-oat01-one")
	used = "0.6"
	ask("sk-ant-oat01-one")
	ask("sk-ant-oat01-two")
	got := events[journal.WindowPlan](j)
	if len(got) != 3 || got[0].Utilization != 0.42 || got[1].Utilization != 0.6 || got[0].Account != got[1].Account || got[1].Account == got[2].Account {
		t.Fatalf("%+v", got)
	}
	if e := got[0]; e.Window != "5h" || e.Status != "allowed" || !e.Reset.Equal(reset) || len(e.Account) != 12 || e.Upstream != "anthropic" {
		t.Errorf("%+v", e)
	}
}
