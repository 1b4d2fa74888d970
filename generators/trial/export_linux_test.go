package trial

import (
	"os/exec"
	"time"
)

// LandlockVersion returns the version of Landlock that the system supports.
func LandlockVersion() int { return landlockVersion() }

// StartSupervisor returns the error of starting a supervisor that must fail.
func StartSupervisor(timeout time.Duration, args ...string) error {
	_, err := supervise(&exec.Cmd{Args: args}, supervisorConfig{}, timeout)
	return err
}

// Unenforced returns the unenforced limits on a system that supports everything else.
func Unenforced(isolated, signalsBlocked bool) []string {
	p := testProcess{config: supervisorConfig{Isolated: isolated}, started: started{Confined: true, ReadOnly: true, SignalsBlocked: signalsBlocked}}
	return p.unenforced(Limits{})
}
