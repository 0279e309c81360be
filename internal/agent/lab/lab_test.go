package lab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/plimsoll/plimsoll/internal/agent/lab"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// child is the variable that makes the test's own program the child of the tool build.
const child = "PLIMSOLL_LAB_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(child) {
	case "":
		os.Exit(m.Run())
	case "hog":
		if err := lab.Hog(os.Args[len(os.Args)-1], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "half": // takes a part, and dies
		fmt.Println(16)
		fmt.Fprintln(os.Stderr, "no more memory here")
		os.Exit(7)
	case "liar":
		fmt.Print("-5\nmany\n99999\n", strings.Repeat("x", 1<<20), "\n")
	}
}

func options(kind string) lab.Options {
	return lab.Options{Hog: []string{os.Args[0], "hog"}, Env: []string{child + "=" + kind}}
}

func tool(t *testing.T, tools []builtin.Tool, name string) builtin.Tool {
	t.Helper()
	for _, one := range tools {
		if one.Name == name {
			return one
		}
	}
	t.Fatalf("no tool is called %s", name)
	return builtin.Tool{}
}

// call runs a tool and returns what it says, and its error.
func call(ctx context.Context, one builtin.Tool, arguments string, progress func(done, total float64, text string)) (string, error) {
	if progress == nil {
		progress = func(float64, float64, string) {}
	}
	r, err := one.Run(ctx, &builtin.Call{Tool: one.Name, Arguments: json.RawMessage(arguments), Progress: progress})
	if err != nil {
		return "", err
	}
	if r.Stream == nil {
		return r.Text, nil
	}
	var b bytes.Buffer
	err = r.Stream(ctx, &b)
	return b.String(), err
}

func TestToolsAreServed(t *testing.T) {
	t.Parallel()
	tools := lab.Tools(options("hog"))
	s, err := builtin.New(builtin.Options{Name: "lab", Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var names []string
	for _, one := range tools {
		names = append(names, one.Name)
		if !strings.Contains(one.Description, "LABORATORY") {
			t.Errorf("%s does not say what it is: %s", one.Name, one.Description)
		}
	}
	if got := strings.Join(names, " "); got != "flood hang fail count echo build" {
		t.Errorf("the tools are %s", got)
	}
	if n := len(lab.Tools(lab.Options{})); n != 5 {
		t.Errorf("%d tools without a program for the child, want 5", n)
	}
}

func TestFlood(t *testing.T) {
	t.Parallel()
	flood := tool(t, lab.Tools(lab.Options{}), "flood")
	for _, size := range []int{0, 1, 63, 64, 65, 32 << 10, 32<<10 + 1, 1_000_000} {
		text, err := call(t.Context(), flood, fmt.Sprintf(`{"bytes":%d}`, size), nil)
		if err != nil || len(text) != size {
			t.Errorf("%d bytes: %d came, %v", size, len(text), err)
		}
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if whole := len(line) == 63; whole && !strings.HasPrefix(line, fmt.Sprintf("line %d ", i+1)) {
				t.Fatalf("%d bytes: line %d is %q", size, i+1, line)
			}
		}
	}
	for _, wrong := range []string{`{"bytes":-1}`, `{"bytes":1073741825}`, `{}`, `{"bytes":"many"}`} {
		if text, err := call(t.Context(), flood, wrong, nil); err == nil {
			t.Errorf("%s gives %d bytes", wrong, len(text))
		}
	}
}

// A reader that has gone ends a flood of any size.
func TestFloodEndsWithItsReader(t *testing.T) {
	t.Parallel()
	flood := tool(t, lab.Tools(lab.Options{}), "flood")
	r, err := flood.Run(t.Context(), &builtin.Call{Tool: "flood", Arguments: json.RawMessage(`{"bytes":1073741824}`)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	written := 0
	err = r.Stream(ctx, writer(func(p []byte) (int, error) {
		written += len(p)
		cancel()
		return len(p), nil
	}))
	if !errors.Is(err, context.Canceled) || written > 1<<20 {
		t.Errorf("%d bytes were written after the end: %v", written, err)
	}
	in, out := io.Pipe()
	in.Close()
	if err := r.Stream(t.Context(), out); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the reader was gone, and the error is %v", err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestHangsUntilTakenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause, ended := errors.New("taken back"), make(chan error, 1)
		go func() {
			_, err := call(ctx, tool(t, lab.Tools(lab.Options{}), "hang"), `{}`, nil)
			ended <- err
		}()
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("it returned by itself: %v", err)
		default:
		}
		cancel(cause)
		if err := <-ended; !errors.Is(err, cause) {
			t.Errorf("it ended with %v", err)
		}
	})
}

func TestFailEchoPanic(t *testing.T) {
	t.Parallel()
	tools := lab.Tools(lab.Options{})
	if _, err := call(t.Context(), tool(t, tools, "fail"), `{"message":"boom"}`, nil); err == nil || err.Error() != "boom" {
		t.Errorf("fail: %v", err)
	}
	if _, err := call(t.Context(), tool(t, tools, "fail"), `{}`, nil); err == nil || err.Error() == "" {
		t.Errorf("fail without a message: %v", err)
	}
	for _, want := range []string{"", "héllo\n\x00", strings.Repeat("é", 100_000)} {
		arguments, _ := json.Marshal(map[string]string{"text": want})
		if got, err := call(t.Context(), tool(t, tools, "echo"), string(arguments), nil); err != nil || got != want {
			t.Errorf("echo of %.20q is %.20q, %v", want, got, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_, _ = call(t.Context(), tool(t, tools, "fail"), `{"panic":true}`, nil)
}

func TestCountIsOneFurtherWithEachCall(t *testing.T) {
	t.Parallel()
	count := tool(t, lab.Tools(lab.Options{}), "count")
	for round := range 2 { // done, it begins again
		for i := 1; i <= 3; i++ {
			want := fmt.Sprintf(`{"count":%d,"to":3,"done":%t}`, i, i == 3)
			if got, err := call(t.Context(), count, `{"to":3}`, nil); err != nil || got != want {
				t.Errorf("round %d: %s, %v; want %s", round, got, err, want)
			}
		}
	}
	for _, wrong := range []string{`{"to":0}`, `{"to":1000001}`, `{}`, `{"to":2,"job":"` + strings.Repeat("j", 65) + `"}`} {
		if got, err := call(t.Context(), count, wrong, nil); err == nil {
			t.Errorf("%s gives %s", wrong, got)
		}
	}
}

// The count that was not asked for the longest is forgotten, and no other.
func TestCountsAreBounded(t *testing.T) {
	t.Parallel()
	count := tool(t, lab.Tools(lab.Options{}), "count")
	ask := func(job int) string {
		got, err := call(t.Context(), count, fmt.Sprintf(`{"to":1000,"job":"%d"}`, job), nil)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for job := range lab.MaxCounts {
		ask(job)
	}
	ask(0) // now 1 is the oldest
	ask(lab.MaxCounts)
	if got := ask(0); !strings.Contains(got, `"count":3,`) {
		t.Errorf("a count that was asked for was forgotten: %s", got)
	}
	if got := ask(1); !strings.Contains(got, `"count":1,`) {
		t.Errorf("the oldest count is still there: %s", got)
	}
}
