// Package runtimes hands a run's memory limit down to the language runtimes in it, whose own limits it would else not fit.
//
//	env = runtimes.HandDown(env, 4*limit.GiB) // NODE_OPTIONS, DENO_V8_FLAGS
//	heap := runtimes.Heap(env, argv)          // what V8 may keep of objects
//
// V8 takes half of a control group's limit for its heap where it sees one, and what the host has where it does not.
// Only variables that print nothing and that other programs pass over are set, and none that the user has set. docs/run.md has what was
// measured, and why Go, the JVM, .NET, Bun and Python are left alone.
//
// It is pure and safe for concurrent use.
package runtimes

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

// MemoryName is the variable that carries the limit that was handed down. A run inside of this one tells by it what is the user's
// setting and what ours, made for a larger limit than its own.
const MemoryName = "PLIMSOLL_RUN_MEMORY"

// v8Flag is V8's own name of its limit, which is in MiB.
const v8Flag = "--max-old-space-size="

// What is kept for everything in a process that is not the heap: code, young objects, stacks, other small processes of the run. V8 was
// measured to end 80 to 190 MiB above its limit.
const (
	restShare = 16
	leastRest = 192 * limit.MiB
	// leastHeap is the least heap that is handed down: below it V8 hardly starts.
	leastHeap = 64 * limit.MiB
)

// V8Heap returns the heap that V8 is given under a memory limit, in bytes; 0 leaves it to V8. It is never less than the half that V8 takes
// by itself where it sees the limit.
func V8Heap(memory limit.Bytes) limit.Bytes {
	heap := max(memory-max(memory/restShare, leastRest), memory/2)
	if heap < leastHeap {
		return 0
	}
	return heap - heap%limit.MiB
}

// v8Option returns the flag that sets V8's heap under a memory limit, "" to leave it to V8.
func v8Option(memory limit.Bytes) string {
	if heap := V8Heap(memory); heap > 0 {
		return v8Flag + strconv.FormatInt(int64(heap/limit.MiB), 10)
	}
	return ""
}

// v8Variables are read by Node and Deno; between the flags in them stands a separator.
var v8Variables = []struct{ name, separator string }{{"NODE_OPTIONS", " "}, {"DENO_V8_FLAGS", ","}}

// HandDown returns the environment with variables that tell runtimes how much memory they may use. Values of the user stay; those of a run around
// this one are replaced. If memory is 0, environ is returned unchanged.
func HandDown(environ []string, memory limit.Bytes) []string {
	if memory <= 0 {
		return environ
	}
	environ = slices.Clone(environ)
	around, _ := strconv.ParseInt(getenv(environ, MemoryName), 10, 64)
	outer := limit.Bytes(around)
	for _, v := range v8Variables {
		value := getenv(environ, v.name)
		if ours := v8Option(outer); ours != "" && strings.HasSuffix(value, ours) {
			value = strings.TrimSuffix(strings.TrimSuffix(value, ours), v.separator)
		}
		if slices.ContainsFunc(strings.Split(value, v.separator), setsHeap) {
			continue
		}
		if option := v8Option(memory); option != "" && value != "" {
			value += v.separator + option
		} else {
			value += option
		}
		environ = setenv(environ, v.name, value)
	}
	return setenv(environ, MemoryName, strconv.FormatInt(int64(memory), 10))
}

// setsHeap reports whether a flag of V8 bounds its heap. V8 takes underscores for dashes.
func setsHeap(flag string) bool {
	flag = strings.ReplaceAll(flag, "_", "-")
	return strings.HasPrefix(flag, "--max-old-space-size") || strings.HasPrefix(flag, "--max-heap-size")
}

// Heap returns the heap limit of V8, in bytes, for a process with this environment and these arguments; 0 if none is set.
func Heap(environ, argv []string) limit.Bytes {
	command := ""
	if len(argv) > 0 {
		command = filepath.Base(argv[0])
	}
	variable := v8Variables[0]
	if command == "deno" {
		variable = v8Variables[1]
	}
	said := strings.Split(getenv(environ, variable.name), variable.separator)
	if command == "node" {
		for _, arg := range argv[1:] { // of two the last counts
			if !strings.HasPrefix(arg, "-") {
				break
			}
			said = append(said, arg)
		}
	}
	heap := limit.Bytes(0)
	for _, flag := range said {
		value, ok := strings.CutPrefix(strings.ReplaceAll(flag, "_", "-"), v8Flag)
		if n, err := strconv.ParseInt(value, 10, 32); ok && err == nil && n > 0 {
			heap = limit.Bytes(n) * limit.MiB
		}
	}
	return heap
}

// getenv returns the value of a variable, the last where it is there twice; "" if it is not set.
func getenv(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// setenv gives a variable its only value; "" removes it.
func setenv(environ []string, name, value string) []string {
	environ = slices.DeleteFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	if value == "" {
		return environ
	}
	return append(environ, name+"="+value)
}
