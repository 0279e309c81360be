package bridge

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestLegacyClientThatNeverAnswers: its call ends when the hold does.
func TestLegacyClientThatNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{answers: []string{`"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}`}}
		b := Legacy(server, Options{})
		c := &caller{t: t, p: b, heard: make(chan string, 100)}
		c.call("initialize", `"protocolVersion":"2025-11-25","capabilities":{"roots":{}}`)
		call := c.start("7", "tools/call", `"name":"x"`)
		c.hear("request roots/list")
		time.Sleep(DefaultHold)
		synctest.Wait()
		has(t, <-call.response, `"id":7`, "did not come within 10m0s")
		has(t, c.hear("notifications/cancelled"), `"requestId":"plimsoll-`)
		_ = b.Close()
	})
}
