package watch

import (
	"errors"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/watch/metrics"
	"github.com/plimsoll/plimsoll/internal/watch/traces"
)

// SendTraces begins to send spans of runs to the collector that the user has named ([watch] otlp), and returns the sender; nil when none is
// named, which OTEL_ variables do not do. An error is a warning, and nil is returned.
func SendTraces(c *core.Core, s config.Settings, version string) *traces.Sender {
	if s.Watch.OTLP == "" {
		return nil
	}
	sender, err := startTraces(c, s, version)
	if err != nil {
		c.Warn("no traces are sent: " + err.Error())
	}
	return sender
}

// ShowTraces adds the counts of the sender to the metrics; sender may be nil.
func ShowTraces(all *metrics.Runs, sender *traces.Sender) {
	if sender == nil {
		return
	}
	all.ShowTraces(func() metrics.Traces {
		now := sender.Stats()
		return metrics.Traces{
			Sending: now.Sending, Sent: now.Sent, Dropped: now.Dropped, Rejected: now.Rejected,
			Requests: now.Requests, Failures: now.Failures, QueuedBytes: now.QueuedBytes,
		}
	})
}

func startTraces(c *core.Core, s config.Settings, version string) (*traces.Sender, error) {
	if !s.Watch.Runs {
		return nil, errors.New("they are made of what is kept of runs, and [watch] runs is false")
	}
	dir, err := c.Dirs.EnsureState()
	if err != nil {
		return nil, err
	}
	return traces.Start(traces.Options{StateDir: dir, URL: s.Watch.OTLP, Version: version, Warn: c.Warn})
}
