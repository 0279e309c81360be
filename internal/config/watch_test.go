package config_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
)

// TestCollector: traces go where the user's own configuration says, over HTTP, and nowhere else.
func TestCollector(t *testing.T) {
	for _, c := range []struct{ value, want, problem string }{
		{"http://127.0.0.1:4318", "http://127.0.0.1:4318", ""},
		{"http://127.0.0.1:4318/", "http://127.0.0.1:4318", ""},
		{"https://collector.example.com/otlp/v1/traces", "https://collector.example.com/otlp/v1/traces", ""},
		{"http://127.0.0.1:4317/v1/traces", "http://127.0.0.1:4317/v1/traces", ""}, // HTTP there on purpose
		{"", "", ""},
		{"grpc://localhost:4317", "", "http/protobuf"},
		{"GRPCS://collector.example.com", "", "http/protobuf"},
		{"grpc", "", "http/protobuf"},
		{"localhost:4317", "", "http/protobuf"},
		{"4317", "", "http/protobuf"},
		{"dns:///collector:4317", "", "http/protobuf"},
		{"http://localhost:4317", "", "http/protobuf"},
		{"http://localhost:4317/", "", "http/protobuf"},
		{"http/protobuf", "", "the name of a protocol"},
		{"localhost:4318", "", "is not a URL with http or https and a host"},
		{"http://user:secret@collector:4318", "", "does not belong into the URL"},
		{"grpc://user:secret@collector:4317", "", "http/protobuf"},
		{"http://collector:4318?key=secret", "", "has a query"},
	} {
		l, err := config.Load(config.Options{Dir: t.TempDir(), Environ: []string{
			"PLIMSOLL_WATCH_OTLP=" + c.value, "OTEL_EXPORTER_OTLP_ENDPOINT=http://elsewhere:4318", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		}})
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%q: %v; want a problem with %q", c.value, err, c.problem)
			} else if c.problem == "http/protobuf" && !strings.Contains(err.Error(), "4318") {
				t.Errorf("%q: no port is named: %v", c.value, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.value, err)
			continue
		}
		s, err := l.For("")
		if err != nil || s.Watch.OTLP != c.want {
			t.Errorf("%q: %q, %v; want %q", c.value, s.Watch.OTLP, err, c.want)
		}
	}
}
