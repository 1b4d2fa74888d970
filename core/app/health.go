package app

import "maps"

// A Health says whether an app can answer calls. It comes from what the app last saw; asking for it
// does not use the store.
type Health struct {
	Store    string            // why the store does not work: unreachable, full or failed; empty if it does
	Features map[string]string // "stale" or "stopped" for features that do not follow the log, by name
}

// Health returns the health of the app. It does not wait for commands, nor for a rebuild of the states:
// meanwhile, features are as they were.
func (a *App) Health() Health {
	h := Health{Store: a.store.failure(), Features: map[string]string{}}
	if features := a.featureHealth.Load(); features != nil {
		h.Features = maps.Clone(*features)
	}
	return h
}

// publishHealth makes [App.Health] return the features as they are now. a.mu is held.
func (a *App) publishHealth() {
	features := map[string]string{}
	for _, f := range a.features {
		if f.stuck != nil {
			features[f.Name] = f.stuck.state()
		}
	}
	if len(features) > 0 || a.featureHealth.Load() != nil {
		a.featureHealth.Store(&features)
	}
}
