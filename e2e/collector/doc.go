// Package collector sends the traces of a running plimsoll to the OpenTelemetry collector's own OTLP receiver, and looks at the spans
// as the collector hands them on.
//
// It is a module of its own, so that the collector is compiled for its tests alone: nothing of OpenTelemetry is in plimsoll.
//
//	go test ./...     in this folder; the gate's step e2e does it
package collector
