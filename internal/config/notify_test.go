package config_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
)

func TestNotifyIsReadAsAWay(t *testing.T) {
	for text, want := range map[string]config.NoticeWay{
		`"off"`:                               nil,
		`""`:                                  nil,
		`"desktop"`:                           {"desktop"},
		`["desktop"]`:                         {"desktop"},
		`"https://hooks.test/T?k=v%20w&x=$y"`: {"https://hooks.test/T?k=v%20w&x=$y"},
		`["http://127.0.0.1:8080/"]`:          {"http://127.0.0.1:8080/"},
		`"notify-team"`:                       {"notify-team"},
		`"/opt/tell 'a b' --now"`:             {"/opt/tell", "a b", "--now"},
		`["/opt/a dir/tell", "a b", ""]`:      {"/opt/a dir/tell", "a b", ""},
	} {
		s := newWorld(t).user("[watch]\nnotify = " + text + "\n").settings("")
		if !slices.Equal(s.Watch.Notify, want) {
			t.Errorf("%s is %q, not %q", text, []string(s.Watch.Notify), []string(want))
		}
	}
	s := newWorld(t).env("PLIMSOLL_WATCH_NOTIFY=notify-team --room 'a b'").settings("")
	if want := []string{"notify-team", "--room", "a b"}; !slices.Equal(s.Watch.Notify, want) || s.Watch.Notify.String() != "notify-team --room 'a b'" {
		t.Errorf("%q", s.Watch.Notify)
	}
	if s := newWorld(t).user("[watch]\nnotify = \"desktop\"\n").env("PLIMSOLL_WATCH_NOTIFY=off").settings(""); len(s.Watch.Notify) != 0 {
		t.Errorf("%q", s.Watch.Notify)
	}
}

func TestNotifyThatIsNoWayIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`"https://host/s3cret a"`:      "a space in the URL",
		`"ftp://host/"`:                "not a URL with http or https",
		`"https://u:s3cret@host/"`:     "user name or password",
		`"https://host/s3cret#a"`:      "fragment",
		`"https://host:99999/s3cret"`:  "not a port",
		`["https://host/s3cret", "x"]`: "no arguments",
		`"desktop now"`:                "no arguments",
		`"./tell"`:                     "write the whole path",
		`"~/bin/tell"`:                 "write the whole path",
		`["bin/tell"]`:                 "write the whole path",
		`"a 'b"`:                       "not closed",
		`[""," "]`:                     "no name",
		`3`:                            "not desktop, a URL or a command",
		`["a", 3]`:                     "a string",
	} {
		_, err := newWorld(t).user("[watch]\nnotify = " + text + "\n").load()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, not %q", text, err, want)
		}
	}
}

// A repository must not choose which program runs, nor where notices go.
func TestAProjectCannotSetNotify(t *testing.T) {
	s := newWorld(t).user("[watch]\nnotify = \"desktop\"\n").repo("[watch]\nnotify = [\"/bin/sh\", \"-c\", \"true\"]\n").settings("")
	if s.Watch.Notify.String() != "desktop" || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0].String(), "a project file may not set it") {
		t.Errorf("%q, %v", s.Watch.Notify, s.Warnings)
	}
}

// What shows the configuration does not show the token that is in a URL.
func TestTheTokenOfAWebhookIsNotShown(t *testing.T) {
	l := newWorld(t).user("[watch]\nnotify = \"https://hooks.test/T0KEN?key=s3cret\"\n").must()
	e, err := l.Explain("watch.notify", "")
	if err != nil || e.Value != "https://hooks.test/…" {
		t.Errorf("%+v, %v", e, err)
	}
	s, err := l.For("")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil || bytes.Contains(text, []byte("T0KEN")) || bytes.Contains(text, []byte("s3cret")) || !bytes.Contains(text, []byte(`"notify":"https://hooks.test/…"`)) {
		t.Errorf("%s, %v", text, err)
	}
}
