package sandbox

import "strings"

// What sets a terminal back after a program that could not: xterm's control sequences, and those of the kitty keyboard protocol. Nobody can
// tell which of them it had switched on, so each does nothing where its mode is off. A terminal that does not know "<", "=" or ">" in a sequence may
// take it for another one: so what ends in "u" comes where it would restore the cursor to where it is, and what ends in "m" before all colours end.
const (
	saveCursor    = "\x1b7"
	restoreCursor = "\x1b8"
	// normalKeys empties the stack of the kitty protocol, of which each screen has its own.
	normalKeys = "\x1b[<99u"
	// leaveScreen leaves the alternate screen and has the cursor where it was on the normal one, the place where saveCursor found it when
	// there was nothing to leave. A multiplexer would move it to where some earlier program entered the alternate screen: there it stays.
	leaveScreen, leaveInMultiplexer = "\x1b[?1049l", "\x1b[?1047l"
	// wholeScreen ends a scroll region, which moves the cursor.
	wholeScreen = "\x1b[r"
	// plainModes are: cursor keys, mouse reports and their encodings, reports of focus, pasting, size and colours; and after them the keypad,
	// wrapping, a visible cursor, no insertion, letters for lines, no colours.
	plainModes = "\x1b[?1;9;1000;1002;1003;1004;1005;1006;1015;1016;2004;2031;2048l\x1b>\x1b[?7h\x1b[?25h\x1b[4l\x1b(B\x0f\x1b[0m"
	// endOfFrame ends a synchronized update, without which nothing is shown.
	endOfFrame = "\x1b[?2026l"
)

// afterFullScreen returns the control sequences that set a terminal back after a full-screen program; "" for one that takes none. getenv
// returns the environment variables that describe it (TERM, TMUX, STY).
func afterFullScreen(getenv func(string) string) string {
	name := getenv("TERM")
	switch {
	case name == "" || name == "dumb":
		return ""
	case name == "linux": // the kernel's console has neither of the protocols, and older ones show what they do not know
		return saveCursor + wholeScreen + restoreCursor + plainModes
	}
	leave := leaveScreen
	if getenv("TMUX") != "" || getenv("STY") != "" || strings.HasPrefix(name, "tmux") || strings.HasPrefix(name, "screen") {
		leave = leaveInMultiplexer
	}
	return endOfFrame + saveCursor + normalKeys + leave +
		saveCursor + normalKeys + "\x1b[=0u" + wholeScreen + restoreCursor +
		"\x1b[>4;0m" + plainModes + "\x1b[0 q"
}
