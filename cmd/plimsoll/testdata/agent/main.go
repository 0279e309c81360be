// Command agent plays the commands that the tests run under plimsoll.
package main

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

var parts = map[string]func(args []string) int{
	"hold": hold, "bomb": bomb, "forks": forks, "read": read, "outlive": outlive, "slot": slot,
	"args": arguments, "around": around, "ready": ready, "daemon": daemon, "wait": wait,
}

func main() {
	part := parts[os.Args[1]]
	if part == nil {
		fmt.Fprintln(os.Stderr, "agent: no part", os.Args[1])
		os.Exit(2)
	}
	os.Exit(part(os.Args[2:]))
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(2)
	}
	return n
}

// take takes and touches n MiB.
func take(n int) []byte {
	memory, err := syscall.Mmap(-1, 0, n<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent: out of memory:", err)
		os.Exit(12)
	}
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	return memory
}

// hold MB: takes that much and ends.
func hold(args []string) int {
	take(number(args[0]))
	return 0
}

// bomb: takes memory in steps of 1 MiB until it is stopped, or has MB.
func bomb(args []string) int {
	most := 8192
	if len(args) > 0 {
		most = number(args[0])
	}
	for range most {
		take(1)
	}
	return 3
}

// forks N: starts children that live until it ends, and prints how many it could.
func forks(args []string) int {
	started := 0
	self, _ := os.Executable()
	for range number(args[0]) {
		c := exec.Command(self, "wait")
		in, err := c.StdinPipe()
		if err != nil {
			break
		}
		if c.Start() != nil {
			in.Close()
			break
		}
		started++
		defer c.Wait()
		defer in.Close()
	}
	fmt.Println(started)
	return 0
}

// wait: until its standard input ends.
func wait([]string) int {
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// read FILE: through the page cache, with little memory of its own.
func read(args []string) int {
	f, err := os.Open(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	buf := make([]byte, 1<<20)
	for {
		if _, err := f.Read(buf); err == io.EOF {
			return 0
		} else if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
}

// outlive: its child takes all there is and is killed for it; prints the child's end.
func outlive([]string) int {
	kept := take(20)
	self, _ := os.Executable()
	err := exec.Command(self, "bomb").Run()
	fmt.Println("child:", err)
	if kept[0] != 1 || err == nil {
		return 1
	}
	return 0
}

// slot DIR N: takes one of N lock files of DIR without waiting, to show that no more than
// N run at once; 9 when all are taken.
func slot(args []string) int {
	for i := range number(args[1]) {
		f, err := os.OpenFile(filepath.Join(args[0], strconv.Itoa(i)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			defer f.Close()
			return 0
		}
		f.Close()
	}
	fmt.Fprintln(os.Stderr, "agent: no slot is free")
	return 9
}

// arguments prints how many there are and their checksum.
func arguments(args []string) int {
	fmt.Println(len(args), crc32.ChecksumIEEE([]byte(strings.Join(args, "\x00"))))
	return 0
}

// around [FILE]: prints what a process has from its parent.
func around(args []string) int {
	out := os.Stdout
	if len(args) > 0 {
		f, err := os.Create(args[0])
		if err != nil {
			return 1
		}
		out = f
	}
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	fmt.Fprintf(out, "umask %03o\n", mask)
	fmt.Fprintf(out, "hup ignored %t\n", signal.Ignored(syscall.SIGHUP))
	fmt.Fprintf(out, "int ignored %t\n", signal.Ignored(syscall.SIGINT))
	return 0
}

// ready FILE: makes FILE (a fifo too) say so, then waits for its standard input to end.
func ready(args []string) int {
	f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(f, os.Getpid())
	f.Close()
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	return 0
}

// daemon PIDFILE: leaves a process in a session of its own and ends.
func daemon(args []string) int {
	self, _ := os.Executable()
	c := exec.Command(self, "wait")
	r, w, err := os.Pipe()
	if err != nil {
		return 1
	}
	c.Stdin = r
	c.ExtraFiles = []*os.File{w} // it holds the other end itself, so it waits for ever
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.WriteFile(args[0], []byte(strconv.Itoa(c.Process.Pid)), 0o600); err != nil {
		return 1
	}
	return 0
}
