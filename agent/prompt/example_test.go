package prompt_test

import (
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/prompt"
)

func ExampleCompose() {
	compose := prompt.Compose(prompt.Options{Intro: "You know every book of this library."})
	text := compose([]agent.ToolSpec{
		{Name: "search_books", ReadOnly: true},
		{Name: "list_books", ReadOnly: true},
	})
	finding, _, _ := strings.Cut(text, "\n\n# Answers")
	fmt.Println(finding)
	// Output:
	// You know every book of this library.
	//
	// # Finding things
	// - A question with a keyword (a part of a name, a label, an address): search with search_books. Do not list and look through pages yourself.
	// - Only a question for "all", for a number or for a filter that the tool has: list with list_books.
}
