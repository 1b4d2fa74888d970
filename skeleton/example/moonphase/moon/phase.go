package moon

// A Phase is the name of a phase of the moon.
type Phase string

// The phases, in their natural order.
const (
	New            Phase = "new moon"
	WaxingCrescent Phase = "waxing crescent"
	FirstQuarter   Phase = "first quarter"
	WaxingGibbous  Phase = "waxing gibbous"
	Full           Phase = "full moon"
	WaningGibbous  Phase = "waning gibbous"
	LastQuarter    Phase = "last quarter"
	WaningCrescent Phase = "waning crescent"
)

// halfDay is the mean gain of the moon on the sun in half a day, in degrees.
const halfDay = meanSpeed / 2

// phaseOf returns the phase of a moon that is angle degrees ahead of the sun. New moon, full moon
// and the quarters are instants; phaseOf returns them for half a day before and after.
func phaseOf(angle float64) Phase {
	switch {
	case angle < halfDay || angle > 360-halfDay:
		return New
	case angle < 90-halfDay:
		return WaxingCrescent
	case angle <= 90+halfDay:
		return FirstQuarter
	case angle < 180-halfDay:
		return WaxingGibbous
	case angle <= 180+halfDay:
		return Full
	case angle < 270-halfDay:
		return WaningGibbous
	case angle <= 270+halfDay:
		return LastQuarter
	}
	return WaningCrescent
}
