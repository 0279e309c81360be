package limit_test

import (
	"testing"

	"github.com/plimsoll/plimsoll/limit"
)

func TestDollars(t *testing.T) {
	for usd, want := range map[float64]string{0: "$0.00", 0.00042: "$0.00042", 0.004999: "$0.005", 0.005: "$0.01", 1.005: "$1.00", 1234.5: "$1234.50"} {
		if got := limit.Dollars(usd); got != want {
			t.Errorf("%v is %s, want %s", usd, got, want)
		}
	}
}
