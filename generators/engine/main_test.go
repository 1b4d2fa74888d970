package engine_test

import (
	"os"
	"testing"

	"github.com/petrock/petrock/generators/trial"
)

func TestMain(m *testing.M) {
	if trial.Supervise() {
		return
	}
	os.Exit(m.Run())
}
