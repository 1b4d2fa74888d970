package app

// A Health says whether an app can answer calls. It comes from what the app last saw; asking for it
// does not use the store.
type Health struct {
	Store    string            // why the store does not work: unreachable, full or failed; empty if it does
	Features map[string]string // "stale" or "stopped" for features that do not follow the log, by name
}

// Health returns the health of the app.
func (a *App) Health() Health {
	h := Health{Store: a.store.failure(), Features: map[string]string{}}
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, f := range a.features {
		if f.stuck != nil {
			h.Features[f.Name] = f.stuck.state()
		}
	}
	return h
}
