// Package wireerror writes errors as JSON-RPC of A2A has them (A2A 1.0, section 5.4).
//
// An error of the SDK (sdk.ErrTaskNotFound, …), wrapped or not, has the code and the reason of the protocol; all others are internal
// errors. Details that an error carries come first, its reason with the time last.
//
// What 1.0 answers is written by the SDK; this is for 0.3, and for what the server refuses before either has a part in it.
package wireerror
