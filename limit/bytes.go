package limit

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a size in bytes. The zero value means "no size given" wherever a field's
// comment does not say otherwise. It is never negative after [ParseBytes].
type Bytes int64

// Units. M and G are binary, as in every cgroup file and every Kubernetes Mi and Gi.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
)

// ErrSize is wrapped by every error of [ParseBytes].
var ErrSize = errors.New("not a size")

// ParseBytes reads a size: a number, with or without a decimal point, followed by nothing, B, K, M, G or T in either case, optionally with B, i or
// iB after it ("512M", "1.5 GiB", "1048576"). Blanks around it and before the unit do not matter. All units are binary. A fraction above 0 must
// come to at least one byte; what is beyond 2^63-1 is an error and never wraps.
func ParseBytes(s string) (Bytes, error) {
	text := strings.TrimSpace(s)
	fail := func(why string) (Bytes, error) {
		return 0, fmt.Errorf("%w: %q %s; write a size like 512M or 4G", ErrSize, s, why)
	}
	if text == "" {
		return fail("is empty")
	}
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == '.') {
		end++
	}
	number, suffix := text[:end], strings.TrimLeft(text[end:], " ")
	if number == "" {
		return fail("does not start with a number")
	}
	unit, ok := unitOf(suffix)
	if !ok {
		return fail("has the unknown unit " + strconv.Quote(suffix))
	}
	if !strings.Contains(number, ".") {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n > math.MaxInt64/int64(unit) {
			return fail("is larger than any memory")
		}
		return Bytes(n) * unit, nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return fail("does not start with a number")
	}
	f *= float64(unit)
	if f >= math.MaxInt64 {
		return fail("is larger than any memory")
	}
	if f > 0 && f < 1 {
		return fail("is less than one byte")
	}
	return Bytes(math.Round(f)), nil
}

// unitOf returns the bytes of a unit such as "", "k", "MB" or "GiB", in either case; false if there is no such unit.
func unitOf(suffix string) (Bytes, bool) {
	s := strings.ToLower(suffix)
	switch s {
	case "", "b":
		return 1, true
	}
	switch strings.TrimSuffix(strings.TrimSuffix(s[1:], "b"), "i") {
	case "":
	default:
		return 0, false
	}
	switch s[0] {
	case 'k':
		return KiB, true
	case 'm':
		return MiB, true
	case 'g':
		return GiB, true
	case 't':
		return TiB, true
	}
	return 0, false
}

// String writes b exactly, with the largest unit that divides it, so that ParseBytes(b.String()) == b for every b that is not negative.
func (b Bytes) String() string {
	for _, u := range []struct {
		size Bytes
		name string
	}{{TiB, "T"}, {GiB, "G"}, {MiB, "M"}, {KiB, "K"}} {
		if b != 0 && b%u.size == 0 {
			return strconv.FormatInt(int64(b/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// Human writes b for a person, rounded to three digits: "317 MiB", "1.5 GiB".
func (b Bytes) Human() string {
	value, unit := float64(b), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if math.Abs(value) < 1000 {
			break
		}
		value, unit = value/1024, next
	}
	if unit == "B" || math.Abs(value) >= 100 {
		return fmt.Sprintf("%.0f %s", value, unit)
	}
	text := strconv.FormatFloat(value, 'g', 3, 64)
	return text + " " + unit
}

// Set makes *Bytes a command line flag value (github.com/spf13/pflag.Value).
func (b *Bytes) Set(s string) error {
	v, err := ParseBytes(s)
	if err != nil {
		return err
	}
	*b = v
	return nil
}

// Type names the flag value in usage texts.
func (b *Bytes) Type() string { return "size" }

// Count writes a number with its noun, whose plural is regular: 1 project, 2 projects, 2 processes, 2 entries.
func Count[N int | int64 | uint64](n N, noun string) string {
	if n != 1 {
		noun = pluralOf(noun)
	}
	return fmt.Sprint(n, " ", noun)
}

// pluralOf returns the regular plural of an English noun: -ies, -es or -s.
func pluralOf(noun string) string {
	stem, y := strings.CutSuffix(noun, "y")
	switch {
	case y && stem != "" && !strings.ContainsRune("aeiou", rune(stem[len(stem)-1])):
		return stem + "ies"
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "ch"), strings.HasSuffix(noun, "sh"):
		return noun + "es"
	}
	return noun + "s"
}

// Dollars writes an amount of money as people read it: in cents, or with two significant digits if it is more than nothing and less than half a
// cent.
func Dollars(usd float64) string {
	if usd > 0 && usd < 0.005 {
		return fmt.Sprintf("$%.2g", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// Tokens writes a count as people say it: 950, 12.3k, 143k, 1.2M.
func Tokens(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 99_950:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e3), ".0") + "k"
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e6), ".0") + "M"
}
