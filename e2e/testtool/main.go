//go:build linux || darwin

// The runtime would keep a file of the control group open to count processors: the verb
// descriptors must find only those that were passed on.
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command testtool is the agent in the end-to-end tests: it does one thing that agents
// do to a terminal, a signal or a stream, and reports what it found in words that a
// test can wait for.
//
//	testtool VERB [ARG...]
//
// The verbs are the functions in the table below. It uses the standard library and
// x/sys only, so that it starts in a millisecond and brings no descriptors of its own.
package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// again is the time for which a verb looks whether a signal comes a second time.
const again = 300 * time.Millisecond

var verbs = map[string]func(args []string){
	"exit":        exit,
	"acp":         acpAgent,
	"editor":      editor,
	"tally":       tally,
	"die":         die,
	"args":        args,
	"ask":         ask,
	"say":         say,
	"env":         func([]string) { os.Stdout.WriteString(strings.Join(os.Environ(), "\x00")) },
	"place":       place,
	"descriptors": descriptors,
	"streams":     streams,
	"group":       group,
	"interrupted": interrupted,
	"suspend":     suspend,
	"suspended":   suspended,
	"resized":     resized,
	"fullscreen":  fullscreen,
	"switchon":    switchOn,
	"terminate":   terminate,
	"stubborn":    stubborn,
	"daemon":      daemon,
	"thrash":      thrash,
	"outlive":     outlive,
	"orphans":     orphans,
	"idle":        idle,
	"spin":        func([]string) { spin() },
}

func main() {
	if len(os.Args) < 2 || verbs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: testtool VERB [ARG...]")
		os.Exit(2)
	}
	verbs[os.Args[1]](os.Args[2:])
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "testtool:", err)
		os.Exit(99)
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	check(err)
	return n
}

// exit N ends with status N.
func exit(args []string) { os.Exit(number(args[0])) }

// die N ends by signal N. A shell does it: a Go program answers some signals, such as
// SIGQUIT and SIGSEGV, with a trace and a status of its own.
func die(args []string) {
	check(syscall.Exec("/bin/sh", []string{"sh", "-c", "ulimit -c 0; kill -" + args[0] + " $$"}, os.Environ()))
}

// raise ends this process by a signal whose default a Go program keeps.
func raise(sig syscall.Signal) {
	signal.Reset(sig)
	check(syscall.Kill(os.Getpid(), sig))
	time.Sleep(time.Minute) // the signal may take a moment to arrive
}

// args prints how many arguments came and a digest of them.
func args(args []string) {
	fmt.Printf("%d %x\n", len(args), sha256.Sum256([]byte(strings.Join(args, "\x00"))))
}

// place prints the working directory by its inode and by name, and the umask.
func place([]string) {
	var here unix.Stat_t
	check(unix.Stat(".", &here))
	mask := unix.Umask(0)
	fmt.Printf("inode %d PWD=%s umask %03o\n", here.Ino, os.Getenv("PWD"), mask)
}

// descriptors prints which descriptors up to 63 are open, and reads those given.
func descriptors(args []string) {
	var open []string
	for fd := range 64 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			open = append(open, strconv.Itoa(fd))
		}
	}
	for _, a := range args {
		text, err := io.ReadAll(os.NewFile(uintptr(number(a)), "fd"+a))
		check(err)
		fmt.Printf("%s: %q\n", a, text)
	}
	fmt.Println("open", strings.Join(open, " "))
}

// streams copies stdin to stdout, and with every bit turned to stderr.
func streams([]string) {
	all, err := io.ReadAll(os.Stdin)
	check(err)
	done := make(chan error)
	go func() {
		_, err := os.Stdout.Write(all)
		done <- err
	}()
	_, err = os.Stderr.Write(turned(all))
	check(err)
	check(<-done)
}

// turned returns data with every bit turned.
func turned(data []byte) []byte {
	out := bytes.Clone(data)
	for i := range out {
		out[i] ^= 0xff
	}
	return out
}

// group prints how this process stands to its terminal.
func group([]string) {
	for fd := range 3 {
		fmt.Printf("tty%d=%v ", fd, term.IsTerminal(fd))
	}
	front, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	check(err)
	width, height, err := term.GetSize(0)
	check(err)
	fmt.Printf("foreground=%v size=%dx%d\n", front == unix.Getpgrp(), width, height)
}

// interrupted FILE counts the interrupts that one Ctrl-C brings, appends the number to
// FILE and then dies of it, as a tool should that was interrupted.
func interrupted(args []string) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, os.Interrupt)
	fmt.Println("waiting for Ctrl-C")
	<-c
	record(args[0], 1+more(c))
	raise(syscall.SIGINT)
}

// more counts the signals that follow within a moment.
func more(c <-chan os.Signal) int {
	n := 0
	for end := time.After(again); ; n++ {
		select {
		case <-c:
		case <-end:
			return n
		}
	}
}

func record(name string, n int) {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(err)
	_, err = fmt.Fprintln(f, n)
	check(err)
	check(f.Close())
}

// suspend stops itself in the way no handler sees, as some agents do on Ctrl-Z.
func suspend([]string) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGCONT)
	fmt.Println("stopping myself")
	check(syscall.Kill(os.Getpid(), syscall.SIGSTOP))
	<-c // this thread may run on for a moment before the stop reaches it
	fmt.Println("went on")
}

// suspended waits to be stopped by Ctrl-Z and continued.
func suspended([]string) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGCONT)
	fmt.Println("waiting for Ctrl-Z")
	<-c
	fmt.Println("went on")
}

// resized prints the new size, and how many signals told of it.
func resized([]string) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, syscall.SIGWINCH)
	fmt.Println("waiting for a new size")
	<-c
	n := 1 + more(c)
	width, height, err := term.GetSize(0)
	check(err)
	fmt.Printf("now %dx%d after %d\n", width, height, n)
}

// fullscreen takes the terminal over as an editor does, and is killed.
func fullscreen([]string) {
	_, err := term.MakeRaw(0)
	check(err)
	fmt.Print("\x1b[?1049h\x1b[?25lfull screen")
	raise(syscall.SIGKILL)
}

// switchOn SCREEN END N takes the terminal over as agents do, on the normal or the alternate screen, and ends in the row of "all is on" there:
// "die" by a signal or "exit" with a status that is N, or "wait" for an end.
func switchOn(args []string) {
	_, err := term.MakeRaw(0)
	check(err)
	fmt.Print("one\r\ntwo\r\n")
	if args[0] == "alternate" {
		fmt.Print("\x1b[>1u\x1b[?1049h")
	}
	fmt.Print("\x1b[>1u\x1b[>7u\x1b[>4;2m\x1b[?1;1000;1002;1003;1004;1006h\x1b[?2004h\x1b[?2031h\x1b[?2026h\x1b[?25l\x1b[?7l\x1b=\x1b[3;20r\x1b(0\x1b[31m\x1b[12;5Hall is on")
	time.Sleep(400 * time.Millisecond)
	n, err := strconv.Atoi(args[2])
	check(err)
	switch args[1] {
	case "die":
		raise(syscall.Signal(n))
	case "exit":
		os.Exit(n)
	}
	time.Sleep(time.Minute)
}

// terminate ends with status 7 when asked.
func terminate([]string) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGHUP, os.Interrupt)
	fmt.Println("ready")
	sig := <-c
	fmt.Println("got", sig, "and", more(c), "more")
	os.Exit(7)
}

// stubborn never ends when asked.
func stubborn([]string) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, syscall.SIGTERM)
	fmt.Println("ready")
	for n := 1; ; n++ {
		<-c
		fmt.Println("got", n)
	}
}

// daemon starts a child that outlives it, in a session of its own, and ends once the
// child is there. The child holds none of the three streams.
func daemon([]string) {
	self, err := os.Executable()
	check(err)
	r, w, err := os.Pipe()
	check(err)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	check(err)
	_, err = os.StartProcess(self, []string{self, "stubborn"}, &os.ProcAttr{
		Files: []*os.File{null, w, null},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	check(err)
	w.Close()
	ready := make([]byte, len("ready\n"))
	_, err = io.ReadFull(r, ready)
	check(err)
	fmt.Println("left one behind")
}
