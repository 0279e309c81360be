package toolbox_test

import (
	"fmt"
	"testing"

	"github.com/plimsoll/plimsoll/agent/toolbox"
	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
)

func TestServersOfEveryKind(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(t *testing.T) toolbox.Server{
		"stdio": func(*testing.T) toolbox.Server { return child("child", "works") },
		"http":  func(t *testing.T) toolbox.Server { return remote(t, toolserver.New(toolserver.Options{})) },
		"http-sse": func(t *testing.T) toolbox.Server {
			return remote(t, toolserver.New(toolserver.Options{Answer: toolserver.SSE}))
		},
		"http-legacy": func(t *testing.T) toolbox.Server {
			return remote(t, toolserver.New(toolserver.Options{Versions: toolserver.LegacyOnly}))
		},
		"http-modern": func(t *testing.T) toolbox.Server {
			return remote(t, toolserver.New(toolserver.Options{Versions: toolserver.ModernOnly}))
		},
		"pipe-modern": func(*testing.T) toolbox.Server {
			return piped(toolserver.New(toolserver.Options{Versions: toolserver.ModernOnly}))
		},
		"pages": func(*testing.T) toolbox.Server { return piped(toolserver.New(toolserver.Options{PageSize: 3})) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := opened(t, toolbox.Options{Servers: []toolbox.Server{server(t)}})
			list := specs(t, b)
			for _, want := range []string{"echo", "big", "slow", "result_page", "result_search"} {
				if list[want].Name == "" {
					t.Errorf("%s is not among the tools", want)
				}
			}
			if list["result_query"].Name != "" {
				t.Error("there is a tool to query, and nothing that runs queries")
			}
			if got := succeeded(t, b, "echo", `{"text":"grüße, 日本"}`); got != "grüße, 日本" {
				t.Errorf("echo said %q", got)
			}
			out := called(t, b, "error", `{"text":"no such thing"}`)
			if !out.Failed {
				t.Error("an error of the tool is not marked as failed")
			}
			has(t, out.Text, "no such thing")
			for i := range 3 {
				if got := succeeded(t, b, "echo", fmt.Sprintf(`{"text":"%d"}`, i)); got != fmt.Sprint(i) {
					t.Errorf("call %d said %q", i, got)
				}
			}
		})
	}
}
