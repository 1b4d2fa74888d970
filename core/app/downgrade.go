package app

import (
	"fmt"
	"reflect"
)

// downgradeTo returns a command of a version as the command of a lower version. value has the type of
// its version.
func (t *commandType) downgradeTo(value any, to int) (any, error) {
	target, ok := t.upgrades[to]
	if !ok {
		return nil, fmt.Errorf("%s has no version %d below its version %d", t.eventType, to, t.version)
	}
	for kind := reflect.TypeOf(value); kind != target.kind; kind = reflect.TypeOf(value) {
		step := t.stepDown(kind, to)
		if step == nil {
			return nil, fmt.Errorf("%v has no method Downgrade that leads to version %d; run  petrock generate version --downgrade", kind, to)
		}
		value = step.downgrade(value)
	}
	return value, nil
}

// stepDown returns the version that a type can be downgraded to, not below the version to; nil if
// there is none.
func (t *commandType) stepDown(kind reflect.Type, to int) *Older {
	for _, o := range t.older {
		if o.next == kind && o.downgrade != nil && o.version >= to {
			return &o
		}
	}
	return nil
}
