// Command vocabgen writes the tables of package vocab.
//
//	go run ./internal/vocabgen -out internal/vocab      from the folder of package tokens
//
// It reads the published rank files of o200k_base and cl100k_base from the module
// github.com/pkoukk/tiktoken-go-loader and the character classes from package unicode
// (Unicode 15.0, which is also what the compared library uses), replays the merges to find
// from which two tokens each was made, and writes o200k.bin, cl100k.bin, text.bin and class.bin. The
// output depends on nothing else, so running it again changes nothing; its test says so.
package main
