package eventlog_test

import (
	"testing"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) (first, second eventlog.Store) {
		m := eventlog.NewMemory()
		return m, m.Share()
	})
}
