// Package refusal reads what a model provider says in the body of an error.
//
//	w := refusal.Read(body, status == 200)
//	// w.Texts: what it says in words; w.Codes: its codes and types; w.Param: the member at fault
//
// It holds the common ground of the packages that tell one refusal from another: package overflow (the
// request is too long) and package reasoning (what the model thought does not fit). They look for
// phrases in the texts, which [Normal] has brought into one form.
//
// What to expect: an error body is read up to [MaxBody], each text in it up to 8 KiB; time is
// linear in that; broken JSON, HTML and plain text are one text. Only the members that carry words of
// the provider are read, never the echo of a request that validators put beside them, and of a 200
// only what lies under an error member, so that a model that writes about an error is not taken for one.
//
// Everything here is a pure function on its arguments and may be called from any goroutine. The
// fuzz targets of the packages above go through it.
package refusal
