package core

import (
	"context"
	"log/slog"
	"strings"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/secrets"
)

// Log returns a logger whose warnings and errors the user is told; the rest is dropped.
func (c *Core) Log() *slog.Logger { return slog.New(warner{tell: c.Warn}) }

// warner is a slog.Handler that makes one sentence of a record.
type warner struct {
	tell  func(string)
	attrs []slog.Attr
}

func (w warner) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (w warner) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	add := func(a slog.Attr) bool {
		b.WriteString("; " + a.Key + " " + a.Value.String())
		return true
	}
	for _, a := range w.attrs {
		add(a)
	}
	r.Attrs(add)
	w.tell(printable.Text(secrets.Text(b.String())))
	return nil
}

func (w warner) WithAttrs(attrs []slog.Attr) slog.Handler {
	w.attrs = append(w.attrs[:len(w.attrs):len(w.attrs)], attrs...)
	return w
}

func (w warner) WithGroup(string) slog.Handler { return w }
