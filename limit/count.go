package limit

import (
	"fmt"
	"strings"
)

// Count writes a number with its noun, whose plural is regular: 1 project, 2 projects, 2 processes, 2 entries.
func Count[N int | int64 | uint64](n N, noun string) string {
	if n != 1 {
		noun = pluralOf(noun)
	}
	return fmt.Sprint(n, " ", noun)
}

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
