package toolset

import "slices"

// Every tool and every argument costs a model tokens in each of its requests. What follows is understood and, unless all of it is
// asked for, not shown.

// Rare returns the tools that are seldom wanted, and those whose work others do as well: they are not listed, and work when they are
// called by their names.
func Rare() []string {
	return []string{
		"application_set_service__generate", "repository_list", "account_service__can_i", "account_service__list_accounts", "account_service__get_account",
		"certificate_service__list_certificates", "application_service__list_links", "gpg_key_service__list", "gpg_key_service__get", "version_service__version",
		"list_resource_actions",
		"applicationset_create", "applicationset_service__delete", "project_create", "project_update", "project_delete",
	}
}

// rareArguments returns those that a tool understands without showing them: other names of an argument, what does nothing, and what
// narrows further where other arguments do.
func rareArguments(tool string) []string {
	rare := []string{
		"summary_only", "app_namespace", "refresh", "version", "group", "resource_uid", "match_case", "timestamps", "follow", "follow_seconds", "until",
		"param_id_type", "param_id_value", "id_type",
	}
	if !slices.Contains([]string{"list_applications", "search_argocd_resources", "create_application", "update_application"}, tool) {
		rare = append(rare, "project")
	}
	if tool == "get_application_details" { // Argo CD lets everybody refresh who may read
		rare = slices.DeleteFunc(rare, func(name string) bool { return name == "refresh" })
	}
	return rare
}
