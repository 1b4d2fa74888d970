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

// Unenforced lists what is not enforced with the most that a system can do, but for namespaces and
// the shield of the supervisor.
func Unenforced(isolated, shielded bool) []string {
	p := process{orders: orders{Isolated: isolated}, started: started{Confined: true, Frozen: true, Shielded: shielded}}
	return p.unenforced(Limits{})
}
