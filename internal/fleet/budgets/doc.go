// Package budgets divides budgets among the hosts of a fleet.
//
//	book.Join(budgets.Of(f.Bucket(fleet.Budgets), hostname), project, warn)
//
// Each budget of a period has one key. It has how far each host may spend, and what it has spent; a host changes its own line there by a write
// that names the revision which it replaces. All that hosts may spend never comes to more than the budget, so whoever is cut off can go on
// with what it has. A host that died keeps its line until it is back or the period ends: what it has spent since it told last is not known.
//
// The tests let hosts that die, lag and see old values contend, and sum up what all of them spent.
package budgets
