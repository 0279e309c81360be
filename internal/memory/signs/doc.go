// Package signs tells by the words of a text what sort of thing it says, in English, German, Chinese and Spanish:
//
//	signs.States("We use pnpm in the frontend.")      // true
//	signs.States("Which package manager do we use?")  // false: a question
//	signs.States("Fix the tests of the frontend")     // false: an order
//
// It goes by how sentences begin and end, and by lists of words that are about no subject. It is read for each record that is kept, so
// it looks at few words of each sentence and stops at the first that states something.
package signs
