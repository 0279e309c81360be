// Package rate keeps requests below what providers let through, for all runs of a user on a host together.
//
//	share := rate.Open(dir, warn)
//	turn, err := share.Wait(ctx, rate.Ask{Key: share.Digest(credential + model), Run: id, Since: now, Patience: 15 * time.Second, Input: tokens})
//	…                                        // the request is sent
//	turn.Answered(res.Header)                // or Refused, or Leave
//	for _, p := range rate.PlanOf(res.Header) { … } // the windows of a subscription: 5 hours, 7 days
//
// A [Share] has a file for each login and model: allowances as the newest answers tell them, and a queue. Whoever holds the file's lock lets
// through whose turn it is, so nobody has to be there for the others; places of processes that have ended are free at once. As long as
// plenty is left, or nothing is known, no file is touched. Nothing in an answer is believed as it stands, and no file stops a request.
package rate
