package simulator

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Max is the most objects of one kind. Ten million applications are about 90 GB of JSON.
const Max = 10_000_000

// The size of the recorded installation, for which zero numbers stand.
const (
	DefaultApplications    = 819
	DefaultProjects        = 236
	DefaultApplicationSets = 287
	DefaultClusters        = 13
)

// size is one of the numbers of Options.
type size struct {
	name      string
	n         *int
	otherwise int
}

// sizes lists the numbers of objects, each with its name, the field that it is parsed into, and its default.
func (o *Options) sizes() []size {
	return []size{
		{"applications", &o.Applications, DefaultApplications},
		{"projects", &o.Projects, DefaultProjects},
		{"application sets", &o.ApplicationSets, DefaultApplicationSets},
		{"clusters", &o.Clusters, DefaultClusters},
	}
}

// ParseSize reads "819,236,287,13": applications, projects, application sets, clusters.
// Fewer numbers, or empty places, keep the defaults; 0 is none of a kind. Errors name the
// number.
func ParseSize(text string) (Options, error) {
	var o Options
	sizes, fields := o.sizes(), strings.Split(text, ",")
	if len(fields) > len(sizes) {
		return Options{}, fmt.Errorf("simulator size %q: %d numbers, at most %d are meant: applications,projects,applicationsets,clusters", text, len(fields), len(sizes))
	}
	for i, f := range fields {
		f = strings.TrimSpace(f)
		if f == "" {
			continue
		}
		n, err := strconv.ParseInt(strings.ReplaceAll(f, "_", ""), 10, 64)
		switch {
		case err != nil:
			return Options{}, fmt.Errorf("simulator size %q: %s: %q is no whole number; write four of them, as 819,236,287,13", text, sizes[i].name, f)
		case n < 0 || n > Max:
			return Options{}, fmt.Errorf("simulator size %q: %s: %s is not between 0 and %d", text, sizes[i].name, f, Max)
		case n == 0:
			n = None
		}
		*sizes[i].n = int(n)
	}
	return o, nil
}

// fault describes a word of [ParseFaults].
type fault struct {
	otherwise string // the value of the word alone
	meant     string
	set       func(value string) bool
}

// parsers returns by name how each fault is parsed into its field of f: the value that counts if none is written, the words for an error, and
// a function that stores the value and returns false if it is invalid.
func (f *Faults) parsers() map[string]fault {
	duration := func(into *time.Duration) func(string) bool {
		return func(value string) (ok bool) {
			d, err := time.ParseDuration(value)
			*into = d
			return err == nil && d >= 0
		}
	}
	whole := func(into *int, least, most int) func(string) bool {
		return func(value string) bool {
			n, err := strconv.Atoi(value)
			*into = n
			return err == nil && n >= least && n <= most
		}
	}
	on := func(word string, into *bool) fault {
		return fault{"true", "true or false, or nothing, as " + word, func(value string) bool {
			is, err := strconv.ParseBool(value)
			*into = is
			return err == nil
		}}
	}
	return map[string]fault{
		"latency":      {"", "a time that is not below 0, as latency=200ms", duration(&f.Latency)},
		"per-item":     {"", "a time that is not below 0, as per-item=1ms", duration(&f.PerItem)},
		"cut":          {"", "a number of bytes above 0, as cut=100000", whole(&f.CutAfter, 1, math.MaxInt)},
		"status":       {"", "the status of an error, 400 to 599, as status=503", whole(&f.Status, 400, 599)},
		"half-started": {"1", "a number of lists above 0, as half-started=2", whole(&f.HalfStarted, 1, math.MaxInt)},
		"html":         on("html", &f.HTML),
		"silent":       on("silent", &f.Silent),
		"expired":      on("expired", &f.Expired),
	}
}

// ParseFaults reads "latency=200ms,per-item=1ms,cut=100000,status=401,half-started=1,html,
// silent,expired", in any order. Errors name the word and what is known.
func ParseFaults(text string) (Faults, error) {
	var f Faults
	if strings.TrimSpace(text) == "" {
		return f, nil
	}
	words, seen := f.parsers(), make(map[string]bool)
	for item := range strings.SplitSeq(text, ",") {
		key, value, given := strings.Cut(strings.TrimSpace(item), "=")
		word, known := words[key]
		if !given {
			value = word.otherwise
		}
		switch {
		case seen[key]:
			return Faults{}, fmt.Errorf("simulator faults %q: %s is given twice", text, key)
		case !known:
			return Faults{}, fmt.Errorf("simulator faults %q: unknown %q; known are latency=TIME, per-item=TIME, cut=BYTES, status=CODE, half-started=LISTS, html, silent, expired", text, key)
		case !word.set(value):
			return Faults{}, fmt.Errorf("simulator faults %q: %s=%s: it takes %s", text, key, value, word.meant)
		}
		seen[key] = true
	}
	return f, nil
}
