package argocd

// SummaryFields gives the leaf paths that a row of an application's or project's summary needs.
var SummaryFields = map[Kind][]string{}

// SearchFields gives the leaf paths that a search looks into.
var SearchFields = map[Kind][]string{}
