package watch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/diskspace"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/watch/dashboard"
	"github.com/plimsoll/plimsoll/internal/watch/metrics"
	"github.com/plimsoll/plimsoll/internal/watch/traces"
)

// Metrics returns the metrics of all runs of this user. The caller closes it.
func Metrics(c *core.Core) (*metrics.Runs, error) {
	dir, err := c.Dirs.State()
	if err != nil {
		return nil, fmt.Errorf("the metrics are of what is kept of runs: %w", err)
	}
	return metrics.NewRuns(dir, func() (metrics.Host, bool) {
		now, ok := hostNow()
		h := metrics.Host{TotalBytes: now.TotalBytes, AvailableBytes: now.AvailableBytes, Stall: now.Stall}
		if total, free, known := diskspace.Of(dir); known {
			h.DiskBytes, h.DiskFreeBytes = total, free
		}
		return h, ok
	}), nil
}

// WriteMetrics writes the metrics as text, once.
func WriteMetrics(c *core.Core, to io.Writer) error {
	all, err := Metrics(c)
	if err != nil {
		return err
	}
	defer all.Close()
	return all.Write(to)
}

// WriteMetricsFile replaces a file for node_exporter's textfile collector, whole or not at all, by the metrics; others may read it. Its folder
// must be there.
func WriteMetricsFile(c *core.Core, file string) error {
	if folder := filepath.Dir(file); !isFolder(folder) {
		return fmt.Errorf("%s is no folder: make it, or name another place for the metrics", folder)
	}
	root, name, err := config.OpenFolder(file)
	if err != nil {
		return err
	}
	defer root.Close()
	return atomicfile.Replacement{Root: root, Name: name, Perm: 0o644, Kept: atomicfile.Volatile}.Stream(func(to io.Writer) error { return WriteMetrics(c, to) })
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// hostNow returns the state of the host; false when its memory cannot be read.
func hostNow() (dashboard.Host, bool) {
	r, err := headroom.Read(headroom.Source{})
	if err != nil {
		return dashboard.Host{}, false
	}
	h := dashboard.Host{TotalBytes: int64(r.Capacity()), AvailableBytes: int64(r.Available(false).Physical), Stall: -1}
	if p := headroom.ReadPressure(headroom.Source{}); p.Memory != nil {
		h.Stall = p.Memory.Some.Avg10
	}
	return h, true
}

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

// startTraces starts to send traces to [watch] otlp. It is an error if no runs are kept, of which they are made.
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
