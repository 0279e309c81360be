package simulator

import (
	"fmt"
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

// ParseSize reads "819,236,287,13": applications, projects, application sets, clusters.
// Fewer numbers, or empty places, keep the defaults; 0 is none of a kind. Errors name the
// number.
func ParseSize(text string) (Options, error) {
	var o Options
	if strings.TrimSpace(text) == "" {
		return o, nil
	}
	fields := strings.Split(text, ",")
	into := []*int{&o.Applications, &o.Projects, &o.ApplicationSets, &o.Clusters}
	if len(fields) > len(into) {
		return Options{}, fmt.Errorf("simulator size %q: %d numbers, at most %d are meant: applications,projects,applicationsets,clusters", text, len(fields), len(into))
	}
	names := []string{"applications", "projects", "application sets", "clusters"}
	for i, f := range fields {
		f = strings.TrimSpace(f)
		if f == "" {
			continue
		}
		n, err := strconv.ParseInt(strings.ReplaceAll(f, "_", ""), 10, 64)
		switch {
		case err != nil:
			return Options{}, fmt.Errorf("simulator size %q: %s: %q is no whole number; write four of them, as 819,236,287,13", text, names[i], f)
		case n < 0 || n > Max:
			return Options{}, fmt.Errorf("simulator size %q: %s: %s is not between 0 and %d", text, names[i], f, Max)
		case n == 0:
			n = None
		}
		*into[i] = int(n)
	}
	return o, nil
}

// ParseFaults reads "latency=200ms,per-item=1ms,cut=100000,status=401,half-started=1,html,
// silent,expired", in any order. Errors name the word and what is known.
func ParseFaults(text string) (Faults, error) {
	var f Faults
	if strings.TrimSpace(text) == "" {
		return f, nil
	}
	seen := make(map[string]bool)
	for item := range strings.SplitSeq(text, ",") {
		key, value, given := strings.Cut(strings.TrimSpace(item), "=")
		if seen[key] {
			return Faults{}, fmt.Errorf("simulator faults %q: %s is given twice", text, key)
		}
		seen[key] = true
		var err error
		meant := "" // what it takes, and how that is written
		good := true
		switch key {
		case "latency":
			f.Latency, err = time.ParseDuration(value)
			meant, good = "a time that is not below 0, as latency=200ms", f.Latency >= 0
		case "per-item":
			f.PerItem, err = time.ParseDuration(value)
			meant, good = "a time that is not below 0, as per-item=1ms", f.PerItem >= 0
		case "cut":
			f.CutAfter, err = strconv.ParseInt(value, 10, 64)
			meant, good = "a number of bytes above 0, as cut=100000", f.CutAfter > 0
		case "status":
			f.Status, err = strconv.Atoi(value)
			meant, good = "the status of an error, 400 to 599, as status=503", f.Status >= 400 && f.Status <= 599
		case "half-started":
			f.HalfStarted = 1
			if given {
				f.HalfStarted, err = strconv.Atoi(value)
			}
			meant, good = "a number of lists above 0, as half-started=2", f.HalfStarted > 0
		case "html", "silent", "expired":
			on := !given
			if given {
				on, err = strconv.ParseBool(value)
			}
			meant = "true or false, or nothing, as " + key
			switch key {
			case "html":
				f.HTML = on
			case "silent":
				f.Silent = on
			case "expired":
				f.Expired = on
			}
		default:
			return Faults{}, fmt.Errorf("simulator faults %q: unknown %q; known are latency=TIME, per-item=TIME, cut=BYTES, status=CODE, half-started=LISTS, html, silent, expired", text, key)
		}
		if err != nil || !good {
			return Faults{}, fmt.Errorf("simulator faults %q: %s=%s: it takes %s", text, key, value, meant)
		}
	}
	return f, nil
}
