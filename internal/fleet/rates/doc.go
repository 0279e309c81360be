// Package rates divides what providers let through among the hosts of a fleet.
//
//	share.Join(rates.Of(f.Bucket(fleet.Rates)))
//
// What is left of an allowance every host reads in the provider's answers, with the use of all others in it. What no answer tells is how many
// wait elsewhere: that is kept here, a key for each login and model, by digest, while there is a queue. A host then goes on with its part of
// what is left and of what comes in, until it is told of another one.
package rates
