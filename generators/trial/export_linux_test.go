package trial

import (
	"os/exec"
	"time"
)

// LandlockVersion is what the system knows of Landlock.
func LandlockVersion() int { return landlockVersion() }

// StartSupervisor starts a supervisor, which has to fail, and returns the error.
func StartSupervisor(timeout time.Duration, args ...string) error {
	_, err := supervise(&exec.Cmd{Args: args}, orders{}, timeout)
	return err
}
