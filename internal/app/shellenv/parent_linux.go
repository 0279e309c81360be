package shellenv

import (
	"os"
	"strconv"
	"strings"
)

// parent returns the name of the program that started this one, "" when it cannot be told (proc(5), /proc/PID/comm).
func parent() string {
	name, err := os.ReadFile("/proc/" + strconv.Itoa(os.Getppid()) + "/comm")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(name), "\n")
}
