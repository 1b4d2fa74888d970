package app_test

import (
	"reflect"
	"testing"

	"github.com/petrock/petrock/core/app"
)

func TestUpgradeKeys(t *testing.T) {
	type oldTier string
	type tier string
	got := app.UpgradeKeys[tier](map[oldTier]int{"gold": 1})
	if want := map[tier]int{"gold": 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("UpgradeKeys(gold: 1) = %v, want %v", got, want)
	}
	if got := app.UpgradeKeys[tier](map[oldTier]int(nil)); got != nil {
		t.Errorf("UpgradeKeys(nil) = %v, want nil", got)
	}
}
