package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/agent"
)

// A process can die at any byte: what was written before is there, the record that was being
// written is not, and the conversation goes on.
func TestAFileThatEndsAnywhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{})
	ms := []agent.Message{talk[0], talk[2], {Role: agent.RoleAssistant, Text: "end"}}
	r.write("s", 0, ms...)
	data, err := os.ReadFile(r.file("s"))
	must(t, err)
	torn := int64(0)
	for n := range len(data) {
		must(t, os.WriteFile(r.file("s"), data[:n], 0o600))
		lines := bytes.Count(data[:n], []byte("\n"))
		if n > 0 && data[n-1] != '\n' {
			torn++
		}
		whole := max(lines-1, 0)
		c := r.open("s")
		if got := c.Messages(); len(got) != whole {
			t.Fatalf("cut at %d: %d messages, want %d", n, len(got), whole)
		}
		if n%20 == 0 {
			must(t, c.Append(talk[4]))
		}
		must(t, c.Close())
		if n%20 == 0 {
			same(t, fmt.Sprint("gone on with at ", n), r.messages("s"), append(ms[:whole:whole], talk[4]))
		}
	}
	if s := r.Stats(); s.Torn != torn || s.Damaged != 0 || int64(r.events("agent.session_torn", "")) != torn {
		t.Errorf("%+v, want %d torn", s, torn)
	}
}

// Lines that nobody wrote are passed over, and the file is kept for people to look at.
func TestDamagedFilesAreSetAside(t *testing.T) {
	t.Parallel()
	source := newRig(t, t.TempDir(), Options{})
	source.write("s", 0, talk...)
	whole, err := os.ReadFile(source.file("s"))
	must(t, err)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	record := func(v any) []byte {
		data, err := appendRecord(nil, v)
		must(t, err)
		return data
	}
	rest := join(lines[2:]...)
	for name, c := range map[string]struct {
		data []byte
		want []agent.Message
	}{
		"a bit in a message":     {join(lines[0], bytes.Replace(lines[1], []byte("apps"), []byte("bpps"), 1), rest), talk[1:]},
		"a bit in the head":      {join(bytes.Replace(lines[0], []byte("plimsoll"), []byte("plimsolm"), 1), lines[1], rest), talk},
		"no head":                {join(lines[1], rest), talk},
		"a line of text":         {join(lines[0], []byte("hello\n"), lines[1], rest), talk},
		"empty lines":            {join(lines[0], []byte("\n\n"), lines[1], rest), talk},
		"a line missing its end": {join(lines[0], lines[1][:len(lines[1])-1], rest), talk[2:]},
		"zeros":                  {join(lines[0], make([]byte, 5000), []byte("\n"), lines[1], rest), talk},
		"another JSON":           {join(lines[0], record(map[string]any{"message": 3}), lines[1], rest), talk},
		"null":                   {join(lines[0], record(nil), lines[1], rest), talk},
		"nested":                 {join(lines[0], record(json.RawMessage(strings.Repeat("[", 9000)+strings.Repeat("]", 9000))), lines[1], rest), talk},
		"a giant number":         {join(lines[0], record(json.RawMessage("1"+strings.Repeat("0", 5000))), lines[1], rest), talk},
		"a giant line":           {join(lines[0], bytes.Repeat([]byte("x"), 6<<20), []byte("\n"), lines[1], rest), talk},
		"nothing that is known":  {[]byte("PK\x03\x04\nsomething else\n"), nil},
		"of another session":     {join(record(headerRecord{Format: format, Version: 1, Session: "other"}), lines[1]), nil},
	} {
		r := newRig(t, t.TempDir(), Options{})
		must(t, os.WriteFile(r.file("s"), c.data, 0o600))
		same(t, name, r.messages("s"), c.want)
		aside, err := filepath.Glob(filepath.Join(r.dir, "*"+damagedExt+"*"))
		must(t, err)
		if len(aside) != 1 {
			t.Errorf("%s: set aside are %v", name, aside)
			continue
		}
		if kept, err := os.ReadFile(aside[0]); err != nil || !bytes.Equal(kept, c.data) {
			t.Errorf("%s: the damaged file is not as it was: %d bytes of %d, %v", name, len(kept), len(c.data), err)
		}
		if r.Stats().Damaged != 1 || r.events("agent.session_damaged", filepath.Base(aside[0])) != 1 || !strings.Contains(r.said.String(), filepath.Base(aside[0])) {
			t.Errorf("%s: %+v\n%s", name, r.Stats(), r.said)
		}
		// It is mended once, and goes on.
		o := r.open("s")
		must(t, o.Append(talk[0]))
		must(t, o.Close())
		same(t, name+", gone on with", r.messages("s"), append(c.want[:len(c.want):len(c.want)], talk[0]))
		if r.Stats().Damaged != 1 {
			t.Errorf("%s: it is damaged again: %s", name, r.said)
		}
		if list, err := r.List(); err != nil || len(list) != 1 || list[0].Title == "" && len(c.want) == len(talk) {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

// Whatever byte is wrong, at most the records on both sides of it are lost.
func TestOneWrongByteCostsLittle(t *testing.T) {
	t.Parallel()
	data, err := appendRecord(nil, headerRecord{Format: format, Version: 1, Session: "s"})
	must(t, err)
	for _, m := range talk {
		data, _ = appendMessage(data, m, time.Time{}, 1<<20)
	}
	for i := range data {
		for _, wrong := range []byte{data[i] ^ 1, '\n', 0} {
			if wrong == data[i] {
				continue
			}
			bad := bytes.Clone(data)
			bad[i] = wrong
			f, err := readFile(bytes.NewReader(bad), 1<<20)
			must(t, err)
			if len(f.entries) < len(talk)-2 || f.damage == nil && f.torn == 0 {
				t.Errorf("byte %d is %q: %d of %d messages, damage %v, torn %d", i, wrong, len(f.entries), len(talk), f.damage, f.torn)
			}
		}
	}
}

func TestSomethingElseUnderTheName(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{})
	must(t, os.Mkdir(r.file("s"), 0o700))
	c := r.open("s")
	must(t, c.Append(talk...))
	must(t, c.Close())
	same(t, "beside a directory", r.messages("s"), talk)
	if r.Stats().Damaged != 1 {
		t.Errorf("%+v", r.Stats())
	}
	outside := filepath.Join(t.TempDir(), "outside")
	must(t, os.WriteFile(outside, []byte("mine"), 0o600))
	if err := os.Symlink(outside, r.file("link")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	r.write("link", 0, talk...)
	if data, err := os.ReadFile(outside); err != nil || string(data) != "mine" {
		t.Errorf("the file behind a link is %q, %v", data, err)
	}
}

func TestAFileOfANewerVersionIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{})
	data, err := appendRecord(nil, headerRecord{Format: format, Version: version + 1, Session: "s"})
	must(t, err)
	data = append(data, "what will be\n"...)
	must(t, os.WriteFile(r.file("s"), data, 0o600))
	_, err = r.Open(context.Background(), "s", false)
	if err == nil || !strings.Contains(err.Error(), "newer version") || !strings.Contains(err.Error(), r.file("s")) {
		t.Errorf("%v", err)
	}
	if got, err := os.ReadFile(r.file("s")); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAProcessThatIsKilledLosesNothingItHasSaid(t *testing.T) {
	t.Parallel()
	for round := range 4 {
		r := newRig(t, t.TempDir(), Options{})
		p := start(t, "append", r.dir)
		var said string
		for range 3 + 20*round {
			said = p.line(t)
		}
		if last := p.kill(); last != "" {
			said = last
		}
		turns, err := strconv.Atoi(said)
		must(t, err)
		got := r.messages("s")
		if len(got) < 2*(turns+1) || len(got) > 2*(turns+2) {
			t.Fatalf("%d messages after %d turns", len(got), turns+1)
		}
		for i, m := range got {
			if want := numbered(i / 2)[i%2].Text; m.Text != want {
				t.Fatalf("message %d is %q, want %q", i, m.Text, want)
			}
		}
		if r.Stats().Damaged != 0 {
			t.Errorf("%+v\n%s", r.Stats(), r.said)
		}
	}
}

func TestAProcessThatIsKilledWhileItReplaces(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{})
	for round := range 4 {
		p := start(t, "replace", r.dir)
		for range 2 + 7*round {
			p.line(t)
		}
		p.kill()
		got := r.messages("s")
		if len(got) != 4 || got[0].Text != got[2].Text || got[1].Text != got[3].Text {
			t.Fatalf("half of a replacement: %v", got)
		}
	}
	must(t, r.Close())
	newRig(t, r.dir, Options{})
	if left, err := filepath.Glob(filepath.Join(r.dir, "*"+tempExt+"*")); err != nil || len(left) > 0 {
		t.Errorf("left by the dead: %v, %v", left, err)
	}
}

func TestAnotherProcessHasTheSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{MaxSessions: 1})
	p := start(t, "hold", r.dir)
	if p.line(t) != "held" {
		t.Fatal("the child holds nothing")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := r.Open(ctx, "s", false)
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf(`session "s": the session is in use by process %d`, p.cmd.Process.Pid)) {
		t.Errorf("%v", err)
	}
	r.write("another", 0, talk[0])
	// Its end is the lock's end, however it comes.
	got := make(chan error)
	go func() {
		c, err := r.Open(context.Background(), "s", false)
		if err == nil {
			err = c.Close()
		}
		got <- err
	}()
	p.kill()
	select {
	case err := <-got:
		must(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the lock of a dead process is still there")
	}
}
