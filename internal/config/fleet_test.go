package config_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
)

func TestFleetAddresses(t *testing.T) {
	home := t.TempDir()
	load := func(value string) (*config.Loaded, error) {
		dirs := config.NewDirs(func(name string) string {
			if name == "HOME" {
				return home
			}
			return ""
		})
		return config.Load(config.Options{Dirs: &dirs, Dir: t.TempDir(), Environ: []string{"PLIMSOLL_FLEET_URL=" + value}})
	}
	for written, want := range map[string]string{"nats://a:4222": "nats://a:4222", "tls://a, nats://b:1": "tls://a,nats://b:1", " ": ""} {
		l, err := load(written)
		if err != nil {
			t.Error(written, err)
			continue
		}
		if s, err := l.For(""); err != nil || s.Fleet.URL != want {
			t.Errorf("%q: %q %v", written, s.Fleet.URL, err)
		}
	}
	for bad, text := range map[string]string{
		"http://a": "http:// is no scheme", "a:4222": "a scheme and a host", "nats://": "a host", "nats://u:hunter2@a": "fleet.credentials", "nats://a,": "a host",
		"nats://a b": "a host", "nats://a/x": "a host",
	} {
		if _, err := load(bad); err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
