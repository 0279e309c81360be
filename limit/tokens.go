package limit

import (
	"fmt"
	"strings"
)

// Dollars writes an amount of money as people read it: in cents, or with two digits where it is less.
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
