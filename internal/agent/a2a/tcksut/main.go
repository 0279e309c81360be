// Command tcksut is the system under test for A2A's public test kit: the real server, with an
// executor that does what the kit's scenarios want of an agent, by the prefix of the
// message's id.
//
//	go run ./internal/agent/a2a/tcksut -listen 127.0.0.1:9999
//	./run_tck.py --sut-host http://127.0.0.1:9999 --transport jsonrpc,http_json --level must
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/agent/a2a"
)

// streamTime is twice what the kit waits for a stream, in its scenario of a client that
// comes back.
const streamTime = 4 * time.Second

func main() {
	listen := flag.String("listen", "127.0.0.1:9999", "where to listen")
	dir := flag.String("dir", "", "where to keep tasks; empty is memory")
	only10 := flag.Bool("only10", false, "leave A2A 0.3 out")
	flag.Parse()
	if err := serve(*listen, *dir, *only10); err != nil {
		fmt.Fprintln(os.Stderr, "tcksut:", err)
		os.Exit(1)
	}
}

func serve(listen, dir string, only10 bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server, err := a2a.New(a2a.Options{
		Name: "Plimsoll under test", Executor: a2a.ExecutorFunc(execute), Dir: dir, Only10: only10,
		Card: a2a.Card{
			Description: "Does what the A2A test kit's scenarios want.", Version: "1.0.0",
			Skills: []sdk.AgentSkill{{
				ID: "tck", Name: "TCK", Description: "Handles the kit's messages.", Tags: []string{"tck"},
			}},
		},
		// The kit's webhook is on this host.
		PushAllow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		Log:       slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	h := &http.Server{Handler: server, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = server.Close(end)
		_ = h.Shutdown(end)
	}()
	if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// execute plays the test kit's scenario that the id of the message names.
func execute(ctx context.Context, x *a2a.Exchange) error {
	has := func(prefix string) bool { return strings.HasPrefix(x.Message.ID, prefix) }
	file := func() *sdk.Part {
		return &sdk.Part{Content: sdk.Raw("tck"), Filename: "output.txt", MediaType: "text/plain"}
	}
	streamed := func(parts ...*sdk.Part) error {
		return errors.Join(
			x.Status(sdk.TaskStateWorking, "", nil),
			x.Emit(sdk.NewArtifactEvent(x, parts...)),
		)
	}
	artifact := func(parts ...*sdk.Part) error { return x.Emit(sdk.NewArtifactEvent(x, parts...)) }
	switch { // of two prefixes the longer one comes first
	case has("tck-complete-task"):
		return x.Status(sdk.TaskStateCompleted, "Hello from TCK", nil)
	case has("tck-artifact-text"):
		return artifact(sdk.NewTextPart("Generated text content"))
	case has("tck-artifact-file-url"):
		part := sdk.NewFileURLPart("https://example.com/output.txt", "text/plain")
		part.Filename = "output.txt"
		return artifact(part)
	case has("tck-artifact-file"):
		return artifact(file())
	case has("tck-artifact-data"):
		return artifact(sdk.NewDataPart(map[string]any{"key": "value", "count": 42}))
	case has("tck-message-response"):
		return x.Emit(sdk.NewMessage(sdk.MessageRoleAgent, sdk.NewTextPart("Direct message response")))
	case has("tck-input-required"):
		return x.Status(sdk.TaskStateInputRequired, "", nil)
	case has("tck-reject-task"):
		return x.Status(sdk.TaskStateRejected, "rejected", nil)
	case has("tck-stream-001"):
		return streamed(sdk.NewTextPart("Stream hello from TCK"))
	case has("tck-stream-002"):
		return nil
	case has("tck-stream-003"):
		return streamed(sdk.NewTextPart("Stream task lifecycle"))
	case has("tck-stream-ordering-001"):
		return streamed(sdk.NewTextPart("Ordered output"))
	case has("tck-stream-artifact-text"):
		return streamed(sdk.NewTextPart("Streamed text content"))
	case has("tck-stream-artifact-file"):
		return streamed(file())
	case has("tck-stream-artifact-chunked"):
		first := sdk.NewArtifactEvent(x, sdk.NewTextPart("chunk-1 "))
		last := sdk.NewArtifactUpdateEvent(x, first.Artifact.ID, sdk.NewTextPart("chunk-2"))
		last.LastChunk = true
		return errors.Join(x.Status(sdk.TaskStateWorking, "", nil), x.Emit(first), x.Emit(last))
	case has("test-resubscribe-message-id"):
		if err := x.Status(sdk.TaskStateWorking, "", nil); err != nil {
			return err
		}
		select {
		case <-time.After(streamTime):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	default:
		return x.Status(sdk.TaskStateCompleted, "Unhandled messageId: "+x.Message.ID, nil)
	}
}
