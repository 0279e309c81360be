// Package statefile opens files that Plimsoll keeps between runs, and believes of them no more than it must: whoever can write into the
// directory may have put something else there.
//
//	f, err := statefile.Open(filepath.Join(dir, "ledger"), os.O_RDWR|os.O_CREATE, 0o600)
//	text, err := statefile.Read(path, 64<<10)
//
// What is opened is a regular file or nothing. A named pipe would keep its opener waiting for ever, a device does whatever it does, and a
// symbolic link leads out of the directory: each is an error that wraps [ErrNotRegular], and nothing was created, cut short or waited for.
// Only the last element of a path is looked at in this way: people move their state directory with a link. [ReadLinked] reads what others
// keep, and follows links.
//
// All functions may be called from any goroutine.
package statefile
