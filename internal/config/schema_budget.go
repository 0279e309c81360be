package config

// budgetKeys are the keys of [budget], which bounds what all runs and the daemon spend. A project's file may only make it tighter, for the runs in that
// project.
var budgetKeys = []*Key{
	budgetKey("day", "20", "US dollars that all runs may spend in a day of local time; 0 means no bound.", func(b *BudgetSettings) *float64 { return &b.Day }),
	budgetKey("month", "300", "The same in a month.", func(b *BudgetSettings) *float64 { return &b.Month }),
	budgetKey("project_day", "5", "US dollars that the runs of one project may spend in a day of local time; 0 means no bound.", func(b *BudgetSettings) *float64 { return &b.ProjectDay }),
	budgetKey("project_month", "50", "The same in a month.", func(b *BudgetSettings) *float64 { return &b.ProjectMonth }),
	{
		Name: "plan", Type: TypeBool, Default: "false", Project: ProjectNever, example: "true",
		Doc: "Whether what the tokens of a subscription would cost counts as money.",
		set: func(s *Settings, v any) { s.Budget.Plan = v.(bool) },
	},
}

func budgetKey(name, example, doc string, of func(*BudgetSettings) *float64) *Key {
	return &Key{
		Name: name, Type: TypeNumber, Default: "0", Project: ProjectStricter, max: maxDollars, noBound: true, example: example, Doc: doc,
		set: func(s *Settings, v any) { *of(&s.Budget) = v.(float64) },
	}
}
