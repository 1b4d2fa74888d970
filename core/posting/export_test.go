package posting

import "time"

// Sweep does what is done now and then, at a time.
func (t *Transport) Sweep(now time.Time) { t.sweep(now) }
