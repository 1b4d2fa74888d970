package app

// UpgradeList converts each value of a list. A nil list stays nil.
func UpgradeList[Old, New any](list []Old, convert func(Old) New) []New {
	if list == nil {
		return nil
	}
	made := make([]New, len(list))
	for i, old := range list {
		made[i] = convert(old)
	}
	return made
}

// UpgradeMap converts each value of a map. A nil map stays nil.
func UpgradeMap[K comparable, Old, New any](values map[K]Old, convert func(Old) New) map[K]New {
	if values == nil {
		return nil
	}
	made := make(map[K]New, len(values))
	for key, old := range values {
		made[key] = convert(old)
	}
	return made
}

// UpgradePointer converts what a pointer points to. A nil pointer stays nil.
func UpgradePointer[Old, New any](old *Old, convert func(Old) New) *New {
	if old == nil {
		return nil
	}
	return new(convert(*old))
}

// UpgradeOr converts what a pointer points to. A nil pointer becomes fallback.
func UpgradeOr[Old, New any](old *Old, fallback New, convert func(Old) New) New {
	if old == nil {
		return fallback
	}
	return convert(*old)
}
