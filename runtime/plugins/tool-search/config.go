// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package toolsearch

// Config of the plugin. All of it but Enabled takes effect at once, without a bounce.
type Config struct {
	// Enabled turns the search on; when off, nothing is registered.
	Enabled bool `json:"enabled" label:"Search for tools" desc:"Give the model a search for tools when there are many, instead of all of them. When off, every request carries every tool."`
	// ShowToolNames lists the names of the tools that are not shown.
	ShowToolNames bool `json:"showToolNames" label:"Show the names" desc:"List the names of all tools in the description of the search, so that the model knows what there is."`
	// MaxDirectTools is how many tools a request may carry before the search takes their place.
	MaxDirectTools int `json:"maxDirectTools" label:"Tools without a search" min:"0" max:"10000" desc:"Up to this many tools a request carries all of them."`
	// MaxSearchResults is how many tools one search gives; 0 means all.
	MaxSearchResults int `json:"maxSearchResults" label:"Results of a search" min:"0" max:"10000" desc:"How many tools one search gives, when the model asks for no other number. 0 means all."`
	// AlwaysDirectTools are shown always, by name.
	AlwaysDirectTools []string `json:"alwaysDirectTools" label:"Always shown" desc:"Names of tools that every request carries."`
	// MaxDiscoveredKeep is how many found tools a session keeps; 0 means all.
	MaxDiscoveredKeep int `json:"maxDiscoveredKeep" label:"Found tools to keep" min:"0" max:"10000" desc:"How many of the tools that it has found or used last a session keeps in its requests. 0 means all."`
}

// Default is the config of a bot that sets nothing.
func Default() Config {
	return Config{
		Enabled: true, ShowToolNames: true, MaxDirectTools: 5, MaxSearchResults: 5, AlwaysDirectTools: []string{},
		MaxDiscoveredKeep: 20,
	}
}
