package sandbox

// afterFullScreen leaves the alternate screen without moving the cursor of the normal one,
// shows the cursor, and ends mouse reports, bracketed paste and colours (xterm control
// sequences). Each does nothing where it was not on.
const afterFullScreen = "\x1b[?1047l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[0m"
