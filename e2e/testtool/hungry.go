//go:build linux || darwin

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// thrash N [PAUSE] takes N MiB and writes to them in circles, for ever, with a pause after each: under a lower limit with swap it
// stalls on memory all the time, which is what systemd-oomd looks for.
func thrash(args []string) {
	memory, err := unix.Mmap(-1, 0, number(args[0])<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	check(err)
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = byte(rand.Int()) // no two pages are alike
	}
	fmt.Println("thrashing")
	pause := time.Duration(0)
	if len(args) > 1 {
		pause, err = time.ParseDuration(args[1])
		check(err)
	}
	for round := byte(0); ; round++ {
		time.Sleep(pause)
		for i := 0; i < len(memory); i += 4096 {
			memory[i] += round | 1
		}
	}
}

// outlive N starts a child that thrashes N MiB, and prints how the child ended.
func outlive(args []string) {
	self, err := os.Executable()
	check(err)
	fmt.Println("the child:", exec.Command(self, "thrash", args[0], "1s").Run())
}

// spin keeps a processor busy for an hour at most.
func spin() {
	for end := time.Now().Add(time.Hour); time.Now().Before(end); {
	}
}

// orphans N VERB [ARG...] has a shell start N testtools that play the verb, which ends before they do; then it
// waits for a line on its standard input.
func orphans(args []string) {
	self, err := os.Executable()
	check(err)
	script := `n=$1; shift; while [ $n -gt 0 ]; do "$@" <&- >/dev/null 2>&1 & n=$((n-1)); done`
	c := exec.Command("/bin/sh", append([]string{"-c", script, "sh", args[0], self}, args[1:]...)...)
	c.Stderr = os.Stderr
	check(c.Run())
	fmt.Println("orphaned")
	var line [64]byte
	_, _ = os.Stdin.Read(line[:])
}

// idle does nothing for an hour.
func idle([]string) { time.Sleep(time.Hour) }
