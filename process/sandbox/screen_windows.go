package sandbox

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// Screen holds the settings of the console before a run.
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

// SaveScreen returns the settings of the console, for [Screen.Restore]; without a console that restores nothing.
func SaveScreen() *Screen {
	s := &Screen{}
	s.in, s.inMode = consoleMode("CONIN$")
	s.out, s.outMode = consoleMode("CONOUT$")
	return s
}

// consoleMode opens a console by its name, and returns its handle, which the caller closes, with its mode. Both are 0 if there is none.
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

// Look does nothing: a console has no settings by which others could see a full-screen program.
func (s *Screen) Look() {}

// Restore sets the console back when a signal ended the command or its exit status code is not 0, since it may not have done so itself. The
// settings of any other command are left. It is called once, however the run ended.
func (s *Screen) Restore(signal, code int) {
	died := signal != 0 || code != 0
	if s.out != 0 {
		var now uint32
		if died && windows.GetConsoleMode(s.out, &now) == nil && now&windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING != 0 {
			var n uint32
			_ = windows.WriteFile(s.out, []byte(afterFullScreen(getTerm)), &n, nil)
		}
		if died {
			_ = windows.SetConsoleMode(s.out, s.outMode)
		}
		_ = windows.CloseHandle(s.out)
		s.out = 0
	}
	if s.in != 0 {
		if died {
			_ = windows.SetConsoleMode(s.in, s.inMode)
		}
		_ = windows.CloseHandle(s.in)
		s.in = 0
	}
}

// getTerm returns the environment variable name; for TERM, when that is not set, "xterm": a console that takes control sequences.
func getTerm(name string) string {
	if v := os.Getenv(name); v != "" || name != "TERM" {
		return v
	}
	return "xterm"
}

// SignalName returns the name of a signal that [Result].Signal may have; "" for 0.
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
