package moon

// A Phase is what people call how the moon looks.
type Phase string

// The phases, in the order in which they follow each other.
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

// halfDay is how many degrees the moon gains on the sun in half a day, on average.
const halfDay = meanSpeed / 2

// phaseOf is the phase of a moon that is so many degrees ahead of the sun. New moon, full moon and the quarters are instants; what is within
// about half a day of one is called after it.
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
