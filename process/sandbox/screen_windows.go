package sandbox

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// Screen is how the console was set before a run.
type Screen struct {
	in, out         windows.Handle
	inMode, outMode uint32
}

// openConsole opens a console device also where the standard streams are redirected.
func openConsole(name string) (windows.Handle, error) {
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0, err
	}
	return windows.CreateFile(path, windows.GENERIC_READ|windows.GENERIC_WRITE,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, nil, windows.OPEN_EXISTING, 0, 0)
}

// SaveScreen remembers how the console is set, when there is one.
func SaveScreen() *Screen {
	s := &Screen{}
	s.in, s.inMode = consoleMode("CONIN$")
	s.out, s.outMode = consoleMode("CONOUT$")
	return s
}

func consoleMode(name string) (windows.Handle, uint32) {
	console, err := openConsole(name)
	if err != nil {
		return 0, 0
	}
	var mode uint32
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		_ = windows.CloseHandle(console)
		return 0, 0
	}
	return console, mode
}

// Restore puts the console back after a command that was killed and could not do it
// itself. What a command that ended by itself has changed is its own business.
func (s *Screen) Restore(signal int) {
	if s.out != 0 {
		switch syscall.Signal(signal) {
		case syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGILL:
			var now uint32
			if windows.GetConsoleMode(s.out, &now) == nil && now&windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING != 0 {
				var n uint32
				_ = windows.WriteFile(s.out, []byte(afterFullScreen), &n, nil)
			}
		}
		_ = windows.SetConsoleMode(s.out, s.outMode)
		_ = windows.CloseHandle(s.out)
		s.out = 0
	}
	if s.in != 0 {
		_ = windows.SetConsoleMode(s.in, s.inMode)
		_ = windows.CloseHandle(s.in)
		s.in = 0
	}
}

// SignalName is the name of a signal that [Result].Signal may have; "" for 0.
func SignalName(signal int) string {
	switch syscall.Signal(signal) {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGILL:
		return "SIGILL"
	case syscall.SIGABRT:
		return "SIGABRT"
	case syscall.SIGKILL:
		return "SIGKILL"
	case syscall.SIGSEGV:
		return "SIGSEGV"
	case syscall.SIGTERM:
		return "SIGTERM"
	}
	return ""
}
