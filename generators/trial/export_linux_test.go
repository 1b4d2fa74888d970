package trial

// LandlockVersion is what the system knows of Landlock.
func LandlockVersion() int { return landlockVersion() }
