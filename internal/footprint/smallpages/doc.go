// Package smallpages keeps a supervisor without huge pages where the machine gives them to everybody.
//
// Where transparent huge pages are always on, as Debian has them, the first byte of each 2 MiB takes all of it: a supervisor that needs 4 MB has
// 10. What is huge once stays so, and Go's first pages are there before any code of ours. So a run starts itself anew with huge pages
// switched off, 2 ms that are paid on such machines only, and switches them on again for what it starts as soon as its own first pages are
// there. Package main alone imports it; elsewhere than on Linux it does nothing.
package smallpages
