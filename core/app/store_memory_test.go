package app_test

import (
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) (first, second app.Store) {
		m := app.NewMemory()
		return m, m.Share()
	})
}
