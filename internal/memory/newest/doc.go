// Package newest tells when what was said later takes the place of what was said before, by words alone:
//
//	newest.Replaces("We use bun instead of pnpm now.", "We use pnpm in the frontend.") // true
//
// Two sentences are about the same thing if they have what they speak of in common and differ in what they say of it, or if the later one says that
// something is no longer so and names what. It is precise rather than complete: words are all it knows, in English, German, Chinese and Spanish.
package newest
