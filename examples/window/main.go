// Command window shows how a Go program counts a request to a model before it sends it, and
// what is in it, with the packages that Plimsoll's own proxy is made of.
//
//	go run ./examples/window messages claude-sonnet-4-5 < request.json
//
// The first argument is the protocol (chat, responses, messages or gemini), the second the
// model. Nothing is sent anywhere.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "window:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("give a protocol and a model, as in: window messages claude-sonnet-4-5 < request.json")
	}
	dialect, ok := wire.ParseDialect(args[0])
	if !ok {
		return fmt.Errorf("%q is no protocol; use chat, responses, messages or gemini", args[0])
	}
	const most = 64 << 20
	body, err := io.ReadAll(io.LimitReader(in, most))
	if err != nil {
		return err
	}
	request, err := wire.Parse(dialect, body)
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}

	// Every call must have its result, where the protocol wants it.
	mended, actions, err := repair.Repair(request, repair.Options{})
	if err != nil {
		return err
	}
	for _, a := range actions {
		fmt.Fprintf(out, "repair   message %d: %s\n", a.Message, a.Kind)
	}

	tally := tokens.NewCounter(tokens.Options{}).Tally(mended, tokens.FamilyOf("", args[1]))
	window, known := models.Lookup("", args[1], nil)
	fmt.Fprintf(out, "messages %d in %d units, %d tools\n", len(mended.Messages), len(mended.Units()), len(mended.Tools))
	fmt.Fprintf(out, "tokens   %d to %d, likely %d\n", tally.Total.Low, tally.Total.High, tally.Total.Best)
	if known {
		fmt.Fprintf(out, "window   %d, %d for input beside an output of 20000\n", window.Context, window.ForInput(20_000))
	}
	return nil
}
