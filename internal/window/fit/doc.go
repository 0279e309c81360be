// Package fit holds what decides whether a request fits the window of its model and how far to go to make it fit. The proxy and
// the agent both go by it, so that the same conversation has the same fate behind either.
//
//	lines := fit.Lines{Room: window.ForInput(reserve), Trigger: 0.8, Target: fit.AutoTarget(0.8)}
//	if lines.Over(in) { res, err := compactor.Compact(ctx, view, fit.Sizes(counter, family, in, tally), lines.Goal(in)) }
//	if large, ok := errors.AsType[*compact.DoesNotFit](err); ok && fit.MustRefuse(large, in, window) { … }
//
// Counts are bands (low, best, high): what is left out is measured by the best, a limit holds for the upper estimate, and a
// request is refused only when the lower one is over a window that somebody has named. A guess never refuses anything: the
// provider decides.
package fit
