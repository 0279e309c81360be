package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/plimsoll/plimsoll/internal/app"
)

// printTrees writes the processes of each run, children below their parent.
func printTrees(out io.Writer, slots []app.Slot) error {
	for _, s := range slots {
		if len(s.Processes) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(out, "\n%s in %s, run %s\n", s.Tool, s.Project, s.ID); err != nil {
			return err
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "PID\tMEMORY\tCPU\tAGE\tSTATE\tNAME")
		children := map[int][]app.SlotProcess{}
		in := map[int]bool{}
		for _, p := range s.Processes {
			in[p.PID] = true
			children[p.Parent] = append(children[p.Parent], p)
		}
		// Processes are read one by one: two that were born and died meanwhile could be each other's parent.
		shown := map[int]bool{}
		var show func(p app.SlotProcess, depth int)
		show = func(p app.SlotProcess, depth int) {
			if shown[p.PID] {
				return
			}
			shown[p.PID] = true
			printProcess(w, p, depth)
			for _, c := range children[p.PID] {
				show(c, depth+1)
			}
		}
		for _, p := range s.Processes {
			if !in[p.Parent] {
				show(p, 0)
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// deepest bounds the indentation.
const deepest = 20

func printProcess(w io.Writer, p app.SlotProcess, depth int) {
	name := strings.Repeat("  ", min(depth, deepest)) + strings.Map(func(c rune) rune {
		if unicode.IsControl(c) { // a process names itself
			return '?'
		}
		return c
	}, p.Name)
	switch {
	case p.Daemon:
		name += "  (orphan, daemon)"
	case p.Orphan:
		name += "  (orphan)"
	}
	cpu, age := "-", "-"
	if p.CPUMS >= 0 {
		cpu = (time.Duration(p.CPUMS) * time.Millisecond).Round(10 * time.Millisecond).String()
	}
	if p.AgeMS > 0 {
		age = (time.Duration(p.AgeMS) * time.Millisecond).Round(time.Second).String()
	}
	fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", p.PID, p.Bytes.Human(), cpu, age, p.State, name)
}
