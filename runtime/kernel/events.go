// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

// The kernel's own events. Their payload is the name or id they are about.
var (
	// EventServiceRegistered and EventServiceUnregistered carry a service's name.
	EventServiceRegistered   = NewEvent[string]("service:registered")
	EventServiceUnregistered = NewEvent[string]("service:unregistered")
	// EventServicePreferenceChanged carries the name of the service whose preference list was set.
	EventServicePreferenceChanged = NewEvent[string]("service:preference-changed")
	// EventPluginLoaded and EventPluginUnloaded carry a plugin's instance id.
	EventPluginLoaded   = NewEvent[string]("plugin:loaded")
	EventPluginUnloaded = NewEvent[string]("plugin:unloaded")
	// EventPluginsChanged is emitted after every recompute but the one of shutdown.
	EventPluginsChanged = NewEvent[struct{}]("plugins:changed")
	// EventAppStarting, EventReady and EventAppStarted are emitted by Start, in this order. The last two are sticky.
	EventAppStarting = NewEvent[struct{}]("app:starting")
	EventReady       = NewEvent[struct{}]("ready")
	EventAppStarted  = NewEvent[struct{}]("app:started")
	// EventAppStopping is a notification only: cleanup belongs in OnDispose, because bounce and unload do not emit it.
	EventAppStopping = NewEvent[struct{}]("app:stopping")
	// EventRestarting is emitted before the restart strategy takes over.
	EventRestarting = NewEvent[struct{}]("restarting")
)

// The services that the kernel provides itself.
var (
	// ServiceApp is the App.
	ServiceApp = NewService[*App]("app")
	// ServicePlugins is the App's plugin manager.
	ServicePlugins = NewService[*Manager]("plugins")
)
