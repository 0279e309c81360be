package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// figuresOf checks the files and prints their rows; false: not all of them are what they should be.
func figuresOf(w io.Writer, names []string) bool {
	good := true
	for _, name := range names {
		f, err := os.Open(name)
		if err == nil {
			err = figures(w, f)
			f.Close()
		}
		if err != nil {
			fmt.Fprintf(w, "%s: %v\n", name, err)
			good = false
		}
	}
	return good
}

// figures checks that r holds JSON objects that name what they measured, and prints each
// in one line.
func figures(w io.Writer, r io.Reader) error {
	dec := json.NewDecoder(r)
	for n := 0; ; n++ {
		var row struct {
			Bench, Case, Metric, Unit string
			Value                     float64
		}
		if err := dec.Decode(&row); errors.Is(err, io.EOF) {
			if n == 0 {
				return errors.New("empty: nothing was measured")
			}
			return nil
		} else if err != nil {
			return fmt.Errorf("row %d is not the JSON that bench promises: %w", n+1, err)
		}
		if row.Bench == "" || row.Case == "" || row.Metric == "" {
			return fmt.Errorf("row %d does not say what it measured: %+v", n+1, row)
		}
		fmt.Fprintf(w, "= %s, %s: %s %.3g %s\n", row.Bench, row.Case, row.Metric, row.Value, row.Unit)
	}
}
