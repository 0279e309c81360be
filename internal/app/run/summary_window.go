package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// windowRow returns the fullest request against the model's window, and what the proxy did about it; "" for a run without such requests.
func windowRow(w journal.Window) string {
	if w.Unknown {
		return "" // most commands ask no model; the dry run, the report and top say it
	}
	if w.NoProxy != "" {
		return "no proxy, because " + w.NoProxy
	}
	if w.Requests == 0 {
		return ""
	}
	var row string
	if w.LimitTokens > 0 {
		share := float64(w.PeakTokens) / float64(w.LimitTokens)
		row = fmt.Sprintf("%s  %s peak of %s tokens (%.0f %%)", gauge(share), limit.Tokens(w.PeakTokens), limit.Tokens(w.LimitTokens), 100*share)
	} else {
		row = limit.Tokens(w.PeakTokens) + " tokens peak, window unknown"
	}
	parts := []string{row, fmt.Sprintf("%s, %s tokens in", limit.Count(w.Requests, "request"), limit.Tokens(w.TokensIn))}
	if w.Compactions > 0 {
		parts = append(parts, fmt.Sprintf("shortened %s (%s cut)", times(w.Compactions), limit.Bytes(w.CutBytes).Human()))
	}
	if w.Repairs > 0 {
		parts = append(parts, limit.Count(w.Repairs, "repair"))
	}
	if w.OverflowRecoveries > 0 {
		parts = append(parts, fmt.Sprintf("recovered %s from “too long”", times(w.OverflowRecoveries)))
	}
	if w.Stalled > 0 {
		parts = append(parts, fmt.Sprintf("%s stood still and %s ended", limit.Count(w.Stalled, "answer"), map[bool]string{true: "was", false: "were"}[w.Stalled == 1]))
	}
	if w.Loops > 0 {
		parts = append(parts, "repeated itself "+times(w.Loops)+": "+printable.Name(w.Loop))
	}
	if w.RateWaits > 0 {
		waited := time.Duration(w.RateWaitedMS) * time.Millisecond
		parts = append(parts, fmt.Sprintf("%s waited for the provider, %s in all", limit.Count(w.RateWaits, "request"), waited.Round(time.Second)))
	}
	if w.Refused > 0 {
		parts = append(parts, fmt.Sprintf("%d refused", w.Refused))
	}
	return strings.Join(parts, " · ")
}

func times(n int64) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
