// Package rate knows what providers say of how much they let through.
//
//	for _, p := range rate.PlanOf(res.Header) { … } // the windows of a subscription: 5 hours, 7 days
//
// Nothing in a header is believed as it stands: what is no number, negative, or too far away is left out, and of a header that comes twice
// the worse value counts. Everything here is a value without state, for any number of goroutines.
package rate
