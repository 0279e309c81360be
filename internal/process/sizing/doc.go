// Package sizing sets the numbers of a run before it starts (reservation, memory limit, what stays free) from settings, history and
// host, and makes of its end the record that the next decision rests on. It starts and reserves nothing.
package sizing
