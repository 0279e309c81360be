package toolset

import "slices"

// Every tool and every argument costs a model tokens in each of its requests. The tools and arguments below are accepted and, unless
// the options ask for all, not shown.

// Rare returns the tools that are rarely needed, and those whose work others do as well: they are not listed, and can still be called.
func Rare() []string {
	return []string{
		"application_set_service__generate", "repository_list", "account_service__can_i", "account_service__list_accounts", "account_service__get_account",
		"certificate_service__list_certificates", "application_service__list_links", "gpg_key_service__list", "gpg_key_service__get", "version_service__version",
		"list_resource_actions",
		"applicationset_create", "applicationset_service__delete", "project_create", "project_update", "project_delete",
	}
}

// rareArguments returns the arguments that a tool accepts without showing them: other names for an argument, arguments without an effect,
// and further filters.
func rareArguments(tool string) []string {
	rare := []string{
		"summary_only", "app_namespace", "refresh", "version", "group", "resource_uid", "match_case", "timestamps", "follow", "follow_seconds", "until",
		"param_id_type", "param_id_value", "id_type",
	}
	if !slices.Contains([]string{"list_applications", "search_argocd_resources", "create_application", "update_application"}, tool) {
		rare = append(rare, "project")
	}
	if tool == "get_application_details" { // here refresh has an effect; Argo CD allows it to everybody who may read
		rare = slices.DeleteFunc(rare, func(name string) bool { return name == "refresh" })
	}
	return rare
}
